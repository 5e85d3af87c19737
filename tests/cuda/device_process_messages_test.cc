// Messages between ranks that are processes, each with an emulated GPU: by each other's memory, and
// by the transports of the host.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/cuda/device_floats.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

/// The communicator of a rank on a device, or null.
rondoComm_t join(int ranks, int rank, const rondoUniqueId_t& id, std::int64_t timeoutMs) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = timeoutMs;
  config.initTimeoutMs = 20000;
  config.device = rank;
  rondoComm_t comm = nullptr;
  if (rondoCommInitRank(&comm, ranks, id, rank, &config) != rondoSuccess)
    std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(nullptr));
  return comm;
}

float valueOf(int from, int to, int group) {
  return static_cast<float>(10000 * group + 100 * from + to);
}

/// Everybody sends to everybody in several groups that follow each other, with sums in between.
/// @return what went wrong; empty: nothing
std::string exchangeSome(rondoComm_t comm, int ranks, int rank) {
  const OnDevice on(rank);
  TestStream stream;
  std::vector<std::unique_ptr<DeviceFloats>> in;
  std::vector<std::unique_ptr<DeviceFloats>> out;
  const std::size_t counts[] = {0, 3, 20000, 100000, 7};
  int group = 0;
  for (const std::size_t count : counts) {
    ++group;
    bool made = rondoGroupStart() == rondoSuccess;
    for (int peer = 0; peer < ranks; ++peer) {
      out.push_back(std::make_unique<DeviceFloats>(count + 1));
      out.back()->fill(valueOf(rank, peer, group));
      in.push_back(std::make_unique<DeviceFloats>(count + 1));
      in.back()->fill(-1.0F);
      made &= rondoSend(out.back()->data(), count, rondoFloat32, peer, comm, stream.get()) ==
              rondoSuccess;
      made &= rondoRecv(in.back()->data(), count, rondoFloat32, peer, comm, stream.get()) ==
              rondoSuccess;
    }
    made &= rondoGroupEnd() == rondoSuccess;
    DeviceFloats sum(100);
    sum.fill(1.0F);
    made = made && rondoAllReduce(sum.data(), sum.data(), 100, rondoFloat32, rondoSum, comm,
                                  stream.get()) == rondoSuccess;
    stream.synchronize();
    if (!made) return rondoGetLastError(comm);
    if (sum.values() != std::vector<float>(100, static_cast<float>(ranks))) return "a wrong sum";
  }
  for (std::size_t place = 0; place < in.size(); ++place) {
    const int peer = static_cast<int>(place) % ranks;
    const int number = static_cast<int>(place) / ranks;
    std::vector<float> expected(counts[number], valueOf(peer, rank, number + 1));
    expected.push_back(-1.0F);
    if (in[place]->values() != expected) return "a wrong message from " + std::to_string(peer);
  }
  return {};
}

class ProcessMessages : public ::testing::TestWithParam<const char*> {};

TEST_P(ProcessMessages, GoFromRankToRank) {
  ForkedRanks ranks(3, [](int rank, const rondoUniqueId_t& id) {
    ::setenv("RONDO_TRANSPORT", GetParam(), 1);  // NOLINT(concurrency-mt-unsafe)
    rondoComm_t comm = join(3, rank, id, 20000);
    if (comm == nullptr) return 2;
    const std::string fault = exchangeSome(comm, 3, rank);
    std::fprintf(stderr, "rank %d: %s\n", rank, fault.c_str());
    if (rondoCommDestroy(comm) != rondoSuccess) return 3;
    return fault.empty() ? 0 : 4;
  });
  ranks.expectSuccess();
}

/// One that ends without a word is named by who waits for its message, and nobody hangs.
TEST_P(ProcessMessages, OfAProcessThatHasEndedAreAnError) {
  ForkedRanks ranks(2, [](int rank, const rondoUniqueId_t& id) {
    ::setenv("RONDO_TRANSPORT", GetParam(), 1);  // NOLINT(concurrency-mt-unsafe)
    rondoComm_t comm = join(2, rank, id, 20000);
    if (comm == nullptr) return 2;
    if (!exchangeSome(comm, 2, rank).empty()) return 3;
    if (rank == 0) {
      std::this_thread::sleep_for(milliseconds{200});
      ::_exit(0);
    }
    const OnDevice on(rank);
    TestStream stream;
    DeviceFloats text(100);
    if (rondoRecv(text.data(), 100, rondoFloat32, 0, comm, stream.get()) != rondoSuccess) return 5;
    stream.synchronize();
    rondoResult_t failure = rondoSuccess;
    for (int look = 0; look < 1000 && failure == rondoSuccess; ++look) {
      std::this_thread::sleep_for(milliseconds{10});
      if (rondoCommGetAsyncError(comm, &failure) != rondoSuccess) return 6;
    }
    return failure == rondoPeerLost ? 0 : 7;
  });
  ranks.expectSuccess();
}

INSTANTIATE_TEST_SUITE_P(Transports,
                         ProcessMessages,
                         ::testing::Values("cuda_ipc,shm", "shm", "tcp"),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::ranges::replace(name, ',', '_');
                           return name;
                         });

}  // namespace
}  // namespace rondo::testing
