// A cable that is cut while a collective runs over soft-RoCE devices (rxe_network.h): every rank
// learns of it in words and in time, and once the cable is whole, new communicators work.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "rondo/rondo.h"
#include "src/net/deadline.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"
#include "tests/verbs/rxe_network.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 4;
constexpr RxeHosts kHosts{4, 1};
constexpr int kCutDevice = 1;  // and rank
constexpr std::size_t kCount = 20000;

/// RONDO_IB_TIMEOUT: adapters give up after about 1 s, or 7 s.
constexpr const char* kImpatient = "15";
constexpr const char* kPatient = "18";
constexpr std::int64_t kOperationTimeoutMs = 20000;

/// What ranks and the one who cuts cables tell each other.
struct Shared {
  std::atomic<int> running{0};  ///< ranks that have called once
  std::atomic<int> failed{0};   ///< ranks that have had the error
  std::atomic<bool> enough{false};
  std::atomic<bool> repaired{false};
  std::atomic<bool> idIsMade{false};
  rondoUniqueId_t secondId{};  ///< of the communicator after the repair
};

/// Memory that forked processes have in common.
class SharedPage {
 public:
  SharedPage()
      : memory_(::mmap(
            nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
    shared_ = new (memory_) Shared;
  }

  ~SharedPage() { ::munmap(memory_, sizeof(Shared)); }

  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  Shared* operator->() const { return shared_; }

 private:
  void* memory_;
  Shared* shared_ = nullptr;
};

template <class Condition>
bool waitUntil(const Condition& condition, milliseconds limit = milliseconds{20000}) {
  const Deadline deadline = Deadline::within(limit);
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

rondoComm_t joinOverRxe(int rank, const rondoUniqueId_t& id, const char* ackTimeout) {
  // NOLINTBEGIN(concurrency-mt-unsafe): a forked child has one thread
  ::setenv("RONDO_IB_DEVICES", kHosts.devicesOf(rank).c_str(), 1);
  ::setenv("RONDO_IB_TIMEOUT", ackTimeout, 1);
  // NOLINTEND(concurrency-mt-unsafe)
  return joinOrExit(kRanks, rank, id, kOperationTimeoutMs);
}

/// Sums until that fails or it is enough.
rondoResult_t sumOnAndOn(rondoComm_t comm, const SharedPage& shared) {
  std::vector<float> data(kCount, 1.0F);
  std::vector<float> sum(kCount);
  bool first = true;
  for (;;) {
    // All ranks have to leave after the same call.
    data[0] = shared->enough ? 1.0F : 0.0F;
    const rondoResult_t result =
        rondoAllReduce(data.data(), sum.data(), kCount, rondoFloat32, rondoSum, comm, nullptr);
    if (result != rondoSuccess || sum[0] > 0) return result;
    if (first) ++shared->running;
    first = false;
  }
}

/// Whether the message tells device, port, peer and what the adapter said, on all ranks: those that
/// do not see it themselves are told.
bool tellsAll(rondoResult_t result, const std::string& message) {
  const auto has = [&](const char* part) { return message.find(part) != std::string::npos; };
  const bool port = has("rxe1 port 1 has gone down");
  // Soft-RoCE says no more of requests that its network does not take.
  const bool cause = has("transport retry counter exceeded") ||
                     (has("Work Request Flushed Error") && has("the port has gone down"));
  return (result == rondoPeerLost || result == rondoSystemError) && has("rank 1") && has("rxe") &&
         (port || (has(" port 1 to rank ") && cause));
}

int failThenGoOn(int rank, const rondoUniqueId_t& id, const SharedPage& shared) {
  rondoComm_t comm = joinOverRxe(rank, id, kImpatient);
  const rondoResult_t result = sumOnAndOn(comm, shared);
  const std::string message = rondoGetLastError(comm);
  std::fprintf(stderr, "rank %d: %s\n", rank, message.c_str());
  ++shared->failed;
  if (!tellsAll(result, message)) return 2;
  rondoCommAbort(comm);
  rondoCommDestroy(comm);
  if (!waitUntil([&] { return shared->repaired.load(); })) return 3;
  if (rank == 0) {
    if (failed(nullptr, rondoGetUniqueId(&shared->secondId)) != 0) return 4;
    shared->idIsMade = true;
  }
  if (!waitUntil([&] { return shared->idIsMade.load(); })) return 5;
  comm = joinOverRxe(rank, shared->secondId, kImpatient);
  const int wrong = callEverything(comm, kRanks, rank, 1000);
  return wrong + failed(comm, rondoCommDestroy(comm)) > 0 ? 6 : 0;
}

/// Runs ranks that fail by `spoil` and go on after `repair`.
void expectErrorsInWords(const std::function<void()>& spoil, const std::function<void()>& repair) {
  const SharedPage shared;
  ForkedRanks processes(
      kRanks, [&](int rank, const rondoUniqueId_t& id) { return failThenGoOn(rank, id, shared); });
  EXPECT_TRUE(waitUntil([&] { return shared->running == kRanks; })) << "nothing ran";
  spoil();
  EXPECT_TRUE(waitUntil([&] { return shared->failed == kRanks; }, milliseconds{15000}))
      << shared->failed << " ranks noticed";
  repair();
  EXPECT_TRUE(waitUntil([] { return isActive(kCutDevice); })) << "it stays down";
  shared->repaired = true;
  processes.expectSuccess();
}

/// The device sees it: its port goes down.
TEST(RxeCable, ACutIsAnErrorInWordsOnAllRanksAndNoLongerThanItLasts) {
  expectErrorsInWords([] { EXPECT_TRUE(setCable(kCutDevice, false)); },
                      [] { EXPECT_TRUE(setCable(kCutDevice, true)); });
}

/// No device sees it: what one sends, and what it shall get, is dropped on the way.
TEST(RxeCable, ASilentPathIsAnErrorInWordsOnAllRanksAndNoLongerThanItLasts) {
  expectErrorsInWords([] { EXPECT_TRUE(setForwarding(kCutDevice, false)); },
                      [] { EXPECT_TRUE(setForwarding(kCutDevice, true)); });
}

/// Found out before transports are chosen.
TEST(RxeCable, APathThatIsSilentFromTheStartIsLeftToTcp) {
  EXPECT_TRUE(setForwarding(kCutDevice, false));
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    ::setenv("RONDO_TRANSPORT", "verbs,tcp", 1);  // NOLINT(concurrency-mt-unsafe): as above
    const rondoComm_t comm = joinOverRxe(rank, id, kPatient);
    int wrong = callEverything(comm, kRanks, rank, 1000);
    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      const char* name = nullptr;
      wrong += failed(comm, rondoCommGetTransport(comm, peer, &name));
      const bool silent = rank == kCutDevice || peer == kCutDevice;
      if (std::string(name) != (silent ? "tcp" : "verbs")) ++wrong;
    }
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  EXPECT_TRUE(setForwarding(kCutDevice, true));
}

TEST(RxeCable, AMomentOfSilenceIsNoError) {
  const SharedPage shared;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOverRxe(rank, id, kPatient);
    const rondoResult_t result = sumOnAndOn(comm, shared);
    const int wrong = failed(comm, result);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  EXPECT_TRUE(waitUntil([&] { return shared->running == kRanks; })) << "nothing ran";
  EXPECT_TRUE(setForwarding(kCutDevice, false));
  std::this_thread::sleep_for(milliseconds{300});
  EXPECT_TRUE(setForwarding(kCutDevice, true));
  std::this_thread::sleep_for(milliseconds{500});
  shared->enough = true;
  processes.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
