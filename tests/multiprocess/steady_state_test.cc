// A call like one before it allocates nothing, reads no clock, makes no system call and takes no
// lock but one, unless it has to wait for long. The one keeps calls of different threads apart
// (src/operation_order.h); nobody else wants it here.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/counted_calls.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 2;
/// Some of them need no waiting, however busy the machine is; if not of these, of as many more.
constexpr int kBatches = 2000;
constexpr int kRounds = 10;
constexpr int kCallsInABatch = 10;

using Call = std::function<rondoResult_t(rondoComm_t)>;

bool isQuiet(const CallCounts& counts) {
  return counts.yields == 0 && counts.sleeps == 0;
}

bool isIdle(const CallCounts& counts) {
  return counts.allocations == 0 && counts.locks <= kCallsInABatch && counts.clockReads == 0 &&
         counts.systemCalls == 0;
}

/// Batches of one rank.
struct Batches {
  int quiet = 0;
  int busy = 0;  ///< of the quiet ones
};

/// @return whether all calls succeeded
bool countRound(rondoComm_t comm, const char* name, const Call& call, Batches& batches) {
  for (int batch = 0; batch < kBatches; ++batch) {
    startCounting();
    rondoResult_t result = rondoSuccess;
    for (int i = 0; i < kCallsInABatch && result == rondoSuccess; ++i)
      result = call(comm);
    const CallCounts counts = stopCounting();
    if (result != rondoSuccess) return false;
    if (!isQuiet(counts)) continue;
    ++batches.quiet;
    if (isIdle(counts) || batches.busy++ > 0) continue;
    std::fprintf(stderr,
                 "%s: in %d calls %lld allocations, %lld locks, %lld clock reads, %lld system "
                 "calls (last: %d)\n",
                 name, kCallsInABatch, static_cast<long long>(counts.allocations),
                 static_cast<long long>(counts.locks), static_cast<long long>(counts.clockReads),
                 static_cast<long long>(counts.systemCalls), counts.lastSystemCall);
  }
  return true;
}

/// Whether a rank has still seen no batch without waiting, which both learn alike.
bool anyUnlucky(rondoComm_t comm, const Batches& batches) {
  int unlucky = batches.quiet == 0 ? 1 : 0;
  return rondoAllReduce(&unlucky, &unlucky, 1, rondoInt32, rondoMax, comm, nullptr) ==
             rondoSuccess &&
         unlucky == 1;
}

/// @return the exit status of a rank
int countBatches(rondoComm_t comm, const char* name, const Call& call) {
  Batches batches;
  for (int round = 0; round < kRounds; ++round) {
    if (!countRound(comm, name, call, batches)) return 3;
    if (!anyUnlucky(comm, batches)) break;
  }
  if (batches.busy > 0) return 4;  // not before: the other rank makes as many calls
  if (batches.quiet > 0) return 0;
  std::fprintf(stderr, "%s: no batch without waiting in %d\n", name, kRounds * kBatches);
  return 5;
}

int countCalls(int rank, const rondoUniqueId_t& id) {
  struct Case {
    const char* name;
    Call call;
  };

  std::vector<float> input(1 << 16, 1);
  std::vector<float> output(1 << 17);
  const auto allReduce = [&](std::size_t count) {
    return [&, count](rondoComm_t comm) {
      return rondoAllReduce(input.data(), output.data(), count, rondoFloat32, rondoSum, comm,
                            nullptr);
    };
  };
  const Case cases[] = {
      {"all-reduce of 8 bytes", allReduce(2)},
      {"all-reduce of 4 KiB", allReduce(1024)},
      {"all-reduce of 128 KiB", allReduce(1 << 15)},
      {"all-gather of 1 KiB",
       [&](rondoComm_t comm) {
         return rondoAllGather(input.data(), output.data(), 128, rondoFloat32, comm, nullptr);
       }},
      {"broadcast of 64 KiB",
       [&](rondoComm_t comm) {
         return rondoBroadcast(input.data(), output.data(), 1 << 14, rondoFloat32, 0, comm,
                               nullptr);
       }},
      {"reduce of averages",
       [&](rondoComm_t comm) {
         return rondoReduce(input.data(), output.data(), 100, rondoFloat32, rondoAvg, 1, comm,
                            nullptr);
       }},
      {"a group of messages",
       [&](rondoComm_t comm) {
         (void)rondoGroupStart();
         (void)rondoSend(input.data(), 256, rondoFloat32, 1 - rank, comm, nullptr);
         (void)rondoRecv(output.data(), 256, rondoFloat32, 1 - rank, comm, nullptr);
         return rondoGroupEnd();
       }},
      {"messages to and fro",
       [&, sends = rank == 0](rondoComm_t comm) mutable {
         if (std::exchange(sends, !sends))
           return rondoSend(input.data(), 2, rondoFloat32, 1 - rank, comm, nullptr);
         return rondoRecv(output.data(), 2, rondoFloat32, 1 - rank, comm, nullptr);
       }},
      {"barrier", [](rondoComm_t comm) { return rondoBarrier(comm, nullptr); }}};
  rondoComm_t comm = joinOrExit(kRanks, rank, id);
  for (const Case& one : cases) {
    // The first calls connect; later ones find out how long a tick of the cycle counter is.
    for (int i = 0; i < 300; ++i) {
      if (i == 10) std::this_thread::sleep_for(std::chrono::milliseconds{2});
      if (one.call(comm) != rondoSuccess) return 2;
    }
  }
  if (!countSystemCalls()) return 77;
  for (const Case& one : cases) {
    if (const int status = countBatches(comm, one.name, one.call); status != 0) return status;
  }
  return 0;
}

TEST(SteadyState, CallsAskNothingOfTheSystem) {
  ForkedRanks ranks(kRanks, countCalls);
  ranks.expectSuccess();
}

/// Where threads of a rank share the lanes they wake each other, and wait, but allocate nothing and
/// lock nothing on the way. Calls that wait for long look whether their peers are well, which does.
int countSharedCalls(int rank, const rondoUniqueId_t& id) {
  for (const char* const variable : {"RONDO_WORKERS", "RONDO_CHANNELS"})
    ::setenv(variable, "3", 1);  // NOLINT(concurrency-mt-unsafe): the only thread
  std::vector<float> input(1 << 16, 1);
  std::vector<float> output(1 << 16);
  rondoComm_t comm = joinOrExit(kRanks, rank, id);
  int idle = 0;
  for (int call = 0; call < 300; ++call) {
    startCounting();
    const rondoResult_t result = rondoAllReduce(input.data(), output.data(), input.size(),
                                                rondoFloat32, rondoSum, comm, nullptr);
    const CallCounts counts = stopCounting();
    if (result != rondoSuccess || output.back() != kRanks) return 2;
    idle += counts.allocations == 0 && counts.locks <= 1 ? 1 : 0;
  }
  if (idle > 0) return 0;
  std::fprintf(stderr, "no call without an allocation or with one lock only\n");
  return 4;
}

TEST(SteadyState, WorkersAllocateAndLockNothing) {
  ForkedRanks ranks(kRanks, countSharedCalls);
  ranks.expectSuccess();
}

/// The counters count: each of them, where there is something.
TEST(SteadyState, WhatIsAskedIsCounted) {
  startCounting();
  const std::vector<int> allocated(100);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  sched_yield();
  const CallCounts counts = stopCounting();
  EXPECT_GE(counts.allocations, 1);
  EXPECT_EQ(counts.locks, 1);
  EXPECT_EQ(counts.clockReads, 1);
  EXPECT_EQ(counts.yields, 1);
}

TEST(SteadyState, SystemCallsAreCounted) {
  ForkedRanks ranks(1, [](int, const rondoUniqueId_t&) {
    if (!countSystemCalls()) return 77;
    startCounting();
    (void)::getppid();
    const CallCounts counts = stopCounting();
    return counts.systemCalls == 1 ? 0 : 1;
  });
  ranks.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
