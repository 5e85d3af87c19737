// What the ranks of a race share besides the library under test: a barrier, a common start, small
// exchanges, and each call's times. In shared memory, and the same for all libraries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

#include "perf/race/harness/shared_memory.h"

namespace rondo::race {

/// How ranks wait for each other between calls. Never part of what is timed.
enum class Waiting {
  kSpin,  ///< The processor is the rank's own.
  /// Threads of the library need the processor: a rank that spins would keep it from the tail of
  /// the very operation that the others are still in, for a slice of the scheduler.
  kSleep
};

/// One rank's seat at the meeting. Every function but the accessors is called by all ranks.
class Meeting {
 public:
  static constexpr int kMostRanks = 64;
  static constexpr int kMostCalls = 2048;

  /// Made by one process, before the ranks take their seats.
  static SharedMemoryName make();

  Meeting(SharedMemoryName name, int rank, int ranks, Waiting waiting);

  int rank() const { return rank_; }

  int ranks() const { return ranks_; }

  /// True if there are more ranks than processors.
  bool isCrowded() const { return crowded_; }

  /// True if each rank has a processor for itself, and the library has no threads that want it.
  bool ownsProcessor() const { return !crowded_ && waiting_ == Waiting::kSpin; }

  double secondsPerTick() const { return secondsPerTick_; }

  /// Fails the race when another rank does not come for two minutes.
  void barrier();

  /// A barrier that all ranks leave at the same time, within some tens of nanoseconds. Where there
  /// are more ranks than processors, just a barrier.
  void startTogether();

  /// @param all receives the ranks' `mine` in rank order: `bytes` each, at most 4096.
  void allGather(const void* mine, void* all, std::size_t bytes);

  /// What rank 0 says.
  std::uint64_t fromRankZero(std::uint64_t value);

  std::uint64_t sum(std::uint64_t value);

  /// Seconds that a cache line takes from rank 0 to rank 1, the median of many ways there and back.
  /// On a virtual machine it changes when its processors move, and with it all that is small. 0
  /// with one rank, or with more ranks than processors.
  double lineHop();

  /// For each call the time of the rank that took longest.
  /// @param mine this rank's, at most kMostCalls.
  std::vector<double> slowest(std::span<const double> mine);

  /// Memory that all ranks see, zeroed.
  SharedMemory shareMemory(std::size_t bytes);

 private:
  static constexpr std::size_t kTextBytes = 4096;

  struct Board {
    alignas(128) std::atomic<std::uint32_t> arrived;
    alignas(128) std::atomic<std::uint32_t> generation;
    std::atomic<std::uint64_t> startTick;
    alignas(128) std::atomic<std::uint32_t> sleepers;
    alignas(128) std::atomic<std::uint64_t> ping;
    alignas(128) std::atomic<std::uint64_t> pong;
    alignas(128) double times[kMostRanks][kMostCalls];
    std::byte texts[kMostRanks][kTextBytes];
  };

  /// One way there and back; called by ranks 0 and 1.
  void bounceLine(std::uint64_t bounce);

  void meet(std::uint64_t ticksUntilStart);

  void waitForGeneration(std::uint32_t old);

  void sleepOnGeneration(std::uint32_t old);

  SharedMemory memory_;
  Board* board_;
  int rank_;
  int ranks_;
  Waiting waiting_;
  bool crowded_;
  double secondsPerTick_;
};

}  // namespace rondo::race
