// Field test Z04: whatever goes wrong, the error says what, with whom or which resource, and in the
// system's words where there are any; and it belongs to the thread whose call failed.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

void setVariable(const char* name, const char* value) {
  ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe)
}

/// The id of a root whose process has ended.
rondoUniqueId_t idOfNobody() {
  int ids[2];  // NOLINT(modernize-avoid-c-arrays): what pipe() takes
  rondoUniqueId_t id = {};
  if (::pipe(ids) != 0) ::_exit(97);
  const pid_t root = ::fork();
  if (root == 0) {
    const bool said =
        rondoGetUniqueId(&id) == rondoSuccess && ::write(ids[1], &id, sizeof id) == sizeof id;
    ::_exit(said ? 0 : 1);
  }
  ::waitpid(root, nullptr, 0);
  if (::read(ids[0], &id, sizeof id) != sizeof id) ::_exit(96);
  return id;
}

rondoResult_t join(const rondoUniqueId_t& id, int ranks, int rank, std::int64_t timeoutMs) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.initTimeoutMs = timeoutMs;
  rondoComm_t comm = nullptr;
  return rondoCommInitRank(&comm, ranks, id, rank, &config);
}

/// Runs `body` in a process of its own, which may change its environment and limits.
void expectInAProcess(const std::function<int()>& body) {
  ForkedRanks process(1, [&](int, const rondoUniqueId_t&) { return body(); });
  process.expectSuccess();
}

TEST(Errors, Z04ARefusedPort) {
  expectInAProcess([] {
    setVariable("RONDO_ADVERTISE", "127.0.0.1");
    const rondoResult_t result = join(idOfNobody(), 2, 1, 1500);
    return expectFailure(nullptr, result, rondoTimeout, {"127.0.0.1:", "Connection refused"});
  });
}

TEST(Errors, Z04AMissingInterface) {
  expectInAProcess([] {
    setVariable("RONDO_INTERFACE", "nosuch0");
    rondoUniqueId_t id;
    const rondoResult_t result = rondoGetUniqueId(&id);
    return expectFailure(nullptr, result, result, {"nosuch0"}) + (result == rondoSuccess ? 1 : 0);
  });
}

TEST(Errors, Z04TooFewDescriptors) {
  expectInAProcess([] {
    rondoUniqueId_t id;
    if (rondoGetUniqueId(&id) != rondoSuccess) return 2;  // what it loads, it has
    const rlimit limits{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &limits);
    return expectFailure(nullptr, rondoGetUniqueId(&id), rondoSystemError, {"Too many open files"});
  });
}

/// From now on this process may lock no memory, root or not. Ends it if that is not so.
void forbidLockedMemory() {
  const rlimit limits{0, 0};
  ::setrlimit(RLIMIT_MEMLOCK, &limits);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};  // NOLINT(modernize-avoid-c-arrays): what the call takes
  if (::syscall(SYS_capget, &header, data) != 0) ::_exit(95);
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  data[0].permitted &= ~(1U << CAP_IPC_LOCK);
  if (::syscall(SYS_capset, &header, data) != 0) ::_exit(94);
  std::vector<char> page(4096);
  if (::mlock(page.data(), page.size()) == 0) ::_exit(93);
}

/// No transport between processes pins memory, nor does anything else on the host's way.
TEST(Errors, Z04WithoutLockedMemoryEverythingWorks) {
  for (const char* transport : {"shm", "tcp"}) {
    const RankLogs logs;
    ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
      logs.capture(rank);
      setVariable("RONDO_TRANSPORT", transport);
      forbidLockedMemory();
      rondoComm_t comm = joinOrExit(2, rank, id);
      return callEverything(comm, 2, rank, 1000) + sumExactly(comm, 2, rank, 1000000) +
             failed(comm, rondoCommDestroy(comm));
    });
    processes.expectSuccess();
    EXPECT_EQ(logs.linesWith(""), std::vector<std::string>{}) << transport;
  }
}

TEST(Errors, Z04AWrongRoot) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    float one = 1;
    const rondoResult_t result = rondoBroadcast(&one, &one, 1, rondoFloat32, 7, comm, nullptr);
    return expectFailure(comm, result, rondoInvalidArgument, {"root", "7"});
  });
  processes.expectSuccess();
}

TEST(Errors, Z04ADeadPeer) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    if (failed(comm, rondoBarrier(comm, nullptr)) != 0) return 2;
    if (rank == 1) ::_exit(0);
    rondoResult_t result = rondoSuccess;
    while (result == rondoSuccess)
      result = rondoBarrier(comm, nullptr);
    return expectFailure(comm, result, rondoPeerLost,
                         {"rank 1", "process has ended", "its own output may say why"});
  });
  processes.expectSuccess(std::chrono::seconds{20}, 1);
}

TEST(Errors, Z04DifferentCounts) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    std::vector<float> data(101);
    const rondoResult_t result = rondoAllReduce(data.data(), data.data(), rank == 0 ? 100 : 101,
                                                rondoFloat32, rondoSum, comm, nullptr);
    return expectFailure(comm, result, rondoMismatch,
                         {"rank 0", "rank 1", "count 100", "count 101"});
  });
  processes.expectSuccess();
}

TEST(Errors, Z04AWrongVariableAndOnlyInTheThreadThatSawIt) {
  expectInAProcess([] {
    setVariable("RONDO_CHANNELS", "many");
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitAll(&comm, 1, nullptr);
    std::string elsewhere = "nothing read";
    std::thread([&] { elsewhere = rondoGetLastError(nullptr); }).join();
    const bool own = elsewhere.find("many") == std::string::npos;
    return expectFailure(nullptr, result, rondoInvalidArgument, {"RONDO_CHANNELS", "many"}) +
           (own ? 0 : 1);
  });
}

}  // namespace
}  // namespace rondo::testing
