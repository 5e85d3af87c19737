// What happens between processes when one of them dies, stops, leaves, or calls something else: an
// error that names it, in time, on all others.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 3;
constexpr int kVictim = 1;

rondoResult_t sumOnce(rondoComm_t comm) {
  float one = 1;
  return rondoAllReduce(&one, &one, 1, rondoFloat32, rondoSum, comm, nullptr);
}

/// Sums until it fails.
/// @param summed passed after the first sum
rondoResult_t sumUntilFailure(rondoComm_t comm, const Milestone& summed) {
  rondoResult_t result = sumOnce(comm);
  summed.pass();
  while (result == rondoSuccess)
    result = sumOnce(comm);
  return result;
}

/// The victim has done all that the first sum needs of it. Who is told of the failure by another
/// rank may still be in that sum.
int expectLossAtTheSecondSum(rondoComm_t comm) {
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess)
    result = sumOnce(comm);
  return expectFailure(comm, result, rondoPeerLost, {"all_reduce #2", "rank 1"});
}

/// All sum, and go on for a while.
void awaitTraffic(const Milestone& summed) {
  EXPECT_TRUE(summed.await(kRanks));
  std::this_thread::sleep_for(milliseconds{100});
}

TEST(ProcessFailure, KilledRankIsNamed) {
  const Milestone summed;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    const rondoResult_t result = sumUntilFailure(comm, summed);
    return expectFailure(comm, result, rondoPeerLost,
                         {"rank 1", "process has ended", "its own output may say why"});
  });
  awaitTraffic(summed);
  processes.signal(kVictim, SIGKILL);
  processes.expectSuccess(milliseconds{20000}, kVictim);
}

TEST(ProcessFailure, ExitWithoutDestroyIsNoticed) {
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    if (rank == kVictim) {
      if (sumOnce(comm) != rondoSuccess) return 2;
      ::_exit(0);
    }
    return expectLossAtTheSecondSum(comm);
  });
  processes.expectSuccess(milliseconds{20000}, kVictim);
}

TEST(ProcessFailure, LeavingEarlyIsNoticed) {
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    if (rank == kVictim) {
      if (sumOnce(comm) != rondoSuccess) return 2;
      return rondoCommDestroy(comm) == rondoSuccess ? 0 : 3;
    }
    return expectLossAtTheSecondSum(comm);
  });
  processes.expectSuccess(milliseconds{20000}, kVictim);
}

TEST(ProcessFailure, StoppedRankTimesOut) {
  const Milestone summed;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id, 1000);
    const rondoResult_t result = sumUntilFailure(comm, summed);
    return expectFailure(comm, result, rondoTimeout, {"rank 1"});
  });
  awaitTraffic(summed);
  processes.signal(kVictim, SIGSTOP);
  processes.expectSuccess(milliseconds{20000}, kVictim);
}

TEST(ProcessFailure, DifferentCallsAreNamedOnAllRanks) {
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    std::vector<float> data(100, 1.0F);
    const rondoResult_t result =
        rondoAllReduce(data.data(), data.data(), rank == kVictim ? 99 : 100, rondoFloat32, rondoSum,
                       comm, nullptr);
    return expectFailure(comm, result, rondoMismatch, {"count 99", "count 100"});
  });
  processes.expectSuccess(milliseconds{20000});
}

TEST(ProcessFailure, AbortReachesAllRanks) {
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    if (sumOnce(comm) != rondoSuccess) return 2;
    if (rank == kVictim) {
      std::this_thread::sleep_for(milliseconds{100});
      return rondoCommAbort(comm) == rondoSuccess ? 0 : 3;
    }
    return expectFailure(comm, sumOnce(comm), rondoAborted, {"rank 1"});
  });
  processes.expectSuccess(milliseconds{20000});
}

TEST(ProcessInit, MissingRankIsNamed) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.initTimeoutMs = 1000;
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, kRanks, id, rank, &config);
    return expectFailure(nullptr, result, rondoTimeout, {"2"});
  });
  processes.expectSuccess(milliseconds{20000});
}

TEST(ProcessInit, DifferentSettingsAreNamed) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.initTimeoutMs = 10000;
    config.channels = rank + 1;
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, 2, id, rank, &config);
    return expectFailure(nullptr, result, rondoMismatch, {"RONDO_CHANNELS", "1", "2"});
  });
  processes.expectSuccess(milliseconds{20000});
}

}  // namespace
}  // namespace rondo::testing
