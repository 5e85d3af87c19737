// Field tests L01, L03 and L05 between processes: communicators come and go and leave nothing
// behind, ranks that die or stop in the middle of large operations keep nobody, and who destroys at
// once harms nobody.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::size_t entriesOf(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// What a process holds.
struct Holdings {
  std::size_t files = entriesOf("/proc/self/fd");
  std::size_t threads = entriesOf("/proc/self/task");

  bool within(const Holdings& limit) const {
    return files <= limit.files && threads <= limit.threads;
  }
};

std::size_t residentBytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096;
}

/// Whether this process soon holds no more than `wanted` says: the newest rendezvous may still be
/// closing.
bool comesTo(const Holdings& wanted) {
  for (const auto start = Clock::now(); Clock::now() - start < milliseconds{20000};) {
    if (Holdings().within(wanted)) return true;
    std::this_thread::sleep_for(milliseconds{5});
  }
  const Holdings now;
  std::fprintf(stderr, "files %zu -> %zu threads %zu -> %zu\n", wanted.files, now.files,
               wanted.threads, now.threads);
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    std::fprintf(stderr, "%s\n", std::filesystem::read_symlink(file, gone).c_str());
  }
  return false;
}

/// Makes a communicator, sends the id of the next one through it, and destroys it.
int comeAndGo(int rank, rondoUniqueId_t& id) {
  rondoComm_t comm = joinOrExit(2, rank, id);
  if (rank == 0 && rondoGetUniqueId(&id) != rondoSuccess) return 1;
  return failed(comm, rondoBroadcast(&id, &id, sizeof id, rondoUint8, 0, comm, nullptr)) +
         failed(comm, rondoCommDestroy(comm));
}

TEST(Lifecycle, L01TwoHundredCommunicatorsLeaveNothingBehind) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& first) {
    constexpr rlim_t kFiles = 256;
    const rlimit limits{kFiles, kFiles};
    ::setrlimit(RLIMIT_NOFILE, &limits);
    rondoUniqueId_t id = first;
    for (int cycle = 0; cycle < 5; ++cycle) {
      if (comeAndGo(rank, id) != 0) return 1;
    }
    std::this_thread::sleep_for(milliseconds{500});  // the first rendezvous ends
    Holdings early;
    ++early.files;  // a rendezvous that has ended is let go of when the next one begins
    const std::size_t bytes = residentBytes();
    for (int cycle = 5; cycle < 200; ++cycle) {
      if (comeAndGo(rank, id) != 0) return 1;
    }
    if (!comesTo(early)) return 2;
    constexpr std::size_t kMayGrow = std::size_t{2} << 20;
    if (residentBytes() <= bytes + kMayGrow) return 0;
    std::fprintf(stderr, "resident %zu -> %zu\n", bytes, residentBytes());
    return 3;
  });
  processes.expectSuccess();
}

// ---- L03
// ---------------------------------------------------------------------------------------

constexpr int kRanks = 4;
constexpr int kVictim = 2;
constexpr std::size_t kLarge = std::size_t{16} << 20;  // elements, 64 MiB
constexpr milliseconds kSoon{20000};

/// Sums a lot until it fails.
/// @param begins passed right before
rondoResult_t sumMuchUntilFailure(rondoComm_t comm, const Milestone& begins) {
  std::vector<float> data(kLarge);
  begins.pass();
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess) {
    result =
        rondoAllReduce(data.data(), data.data(), kLarge, rondoFloat32, rondoSum, comm, nullptr);
  }
  return result;
}

/// All are in an operation.
void awaitOperation(const Milestone& begins) {
  EXPECT_TRUE(begins.await(kRanks));
  std::this_thread::sleep_for(milliseconds{200});
}

TEST(Lifecycle, L03ARankKilledInALargeOperationKeepsNobody) {
  const Milestone begins;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    const rondoResult_t result = sumMuchUntilFailure(comm, begins);
    return expectFailure(comm, result, rondoPeerLost, {"rank 2"}) +
           failed(comm, rondoCommDestroy(comm));
  });
  awaitOperation(begins);
  processes.signal(kVictim, SIGKILL);
  processes.expectSuccess(kSoon, kVictim);
}

TEST(Lifecycle, L03ARankStoppedInALargeOperationTimesOutByName) {
  const Milestone begins;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id, 1500);
    const rondoResult_t result = sumMuchUntilFailure(comm, begins);
    return expectFailure(comm, result, rondoTimeout, {"rank 2"});
  });
  awaitOperation(begins);
  processes.signal(kVictim, SIGSTOP);
  processes.expectSuccess(milliseconds{1500} + kSoon, kVictim);
}

/// Aborts after a while from a thread of its own. @return how long the call took
milliseconds abortSoon(rondoComm_t comm) {
  std::this_thread::sleep_for(milliseconds{2000});
  const auto start = Clock::now();
  if (rondoCommAbort(comm) != rondoSuccess) return kSoon;
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

TEST(Lifecycle, L03AbortFromAnotherThreadEndsAWaitForAStoppedRank) {
  const Milestone begins;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id, 0);
    milliseconds took{0};
    std::thread second([&] { took = abortSoon(comm); });
    const rondoResult_t result = sumMuchUntilFailure(comm, begins);
    second.join();
    if (took >= kSoon) return 2;
    return expectFailure(comm, result, rondoAborted, {"aborted by rank"}) +
           failed(comm, rondoCommDestroy(comm));
  });
  awaitOperation(begins);
  processes.signal(kVictim, SIGSTOP);
  processes.expectSuccess(milliseconds{2000} + kSoon, kVictim);
}

// ---- L05
// ---------------------------------------------------------------------------------------

constexpr milliseconds kLate{2000};

/// The root has returned, and is gone, before the others call.
TEST(Lifecycle, L05WhatWasSentArrivesThoughTheSenderDestroysAtOnce) {
  constexpr std::size_t kCount = 1000;
  ForkedRanks processes(3, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(3, rank, id);
    if (rank != 0) std::this_thread::sleep_for(kLate);
    std::vector<float> data(kCount, rank == 0 ? 7.0F : 0.0F);
    int wrong = failed(
        comm, rondoBroadcast(data.data(), data.data(), kCount, rondoFloat32, 0, comm, nullptr));
    wrong += std::ranges::count(data, 7.0F) == kCount ? 0 : 1;
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

TEST(Lifecycle, L05ALateDestroyHarmsNobody) {
  ForkedRanks processes(3, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(3, rank, id);
    int wrong = sumExactly(comm, 3, rank, std::size_t{8} << 20);
    if (rank == 1) std::this_thread::sleep_for(kLate);
    wrong += failed(comm, rondoCommDestroy(comm));
    wrong += rondoCommDestroy(comm) == rondoInvalidUsage ? 0 : 1;
    return wrong + failed(nullptr, rondoCommDestroy(nullptr));  // nothing, like free()
  });
  processes.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
