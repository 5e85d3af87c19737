#include "perf/race/harness/meeting.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/race/harness/clock.h"
#include "perf/race/harness/failure.h"
#include "perf/race/harness/processors.h"

namespace rondo::race {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::minutes(2);
/// From the last rank's arrival to the common start: longer than the others take to see it. A rank
/// that sleeps takes up to 100 us to wake.
constexpr double kSpinLeadSeconds = 0.7e-6;
constexpr double kSleepLeadSeconds = 150e-6;
constexpr int kSpins = 100'000;
constexpr int kSpinsWhenCrowded = 200;
constexpr int kYields = 50;
constexpr std::uint64_t kBounces = 501;
constexpr long kNapNanoseconds = 5'000'000;

}  // namespace

SharedMemoryName Meeting::make() {
  return SharedMemory::make(sizeof(Board));
}

Meeting::Meeting(SharedMemoryName name, int rank, int ranks, Waiting waiting)
    : memory_(name, sizeof(Board)),
      board_(reinterpret_cast<Board*>(memory_.data())),
      rank_(rank),
      ranks_(ranks),
      waiting_(waiting),
      crowded_(ranks > usableProcessors()) {
  if (ranks < 1 || ranks > kMostRanks) fail("the number of ranks must be 1 to 64");
  barrier();
  secondsPerTick_ = measureSecondsPerTick();
  barrier();
}

void Meeting::barrier() {
  meet(0);
}

void Meeting::startTogether() {
  if (crowded_) return barrier();
  const double lead = waiting_ == Waiting::kSpin ? kSpinLeadSeconds : kSleepLeadSeconds;
  meet(static_cast<std::uint64_t>(lead / secondsPerTick_));
  const std::uint64_t start = board_->startTick.load(std::memory_order_relaxed);
  while (ticks() < start) {
  }
}

void Meeting::meet(std::uint64_t ticksUntilStart) {
  const std::uint32_t generation = board_->generation.load(std::memory_order_acquire);
  const auto others = static_cast<std::uint32_t>(ranks_ - 1);
  if (board_->arrived.fetch_add(1, std::memory_order_acq_rel) != others) {
    return waitForGeneration(generation);
  }
  board_->arrived.store(0, std::memory_order_relaxed);
  board_->startTick.store(ticks() + ticksUntilStart, std::memory_order_relaxed);
  // Sequentially consistent with the sleeper's two accesses: one of the two sees the other's.
  board_->generation.store(generation + 1, std::memory_order_seq_cst);
  if (board_->sleepers.load(std::memory_order_seq_cst) != 0) {
    ::syscall(SYS_futex, &board_->generation, FUTEX_WAKE, kMostRanks, nullptr, nullptr, 0);
  }
}

void Meeting::waitForGeneration(std::uint32_t old) {
  const auto isOver = [&] { return board_->generation.load(std::memory_order_acquire) != old; };
  if (waiting_ == Waiting::kSpin) {
    for (int i = 0; i < (crowded_ ? kSpinsWhenCrowded : kSpins); ++i) {
      if (isOver()) return;
      relaxProcessor();
    }
    for (int i = 0; i < kYields; ++i) {
      if (isOver()) return;
      ::sched_yield();
    }
  }
  const auto deadline = Clock::now() + kPatience;
  while (!isOver()) {
    sleepOnGeneration(old);
    if (Clock::now() > deadline) fail("another rank did not come within two minutes");
  }
}

void Meeting::sleepOnGeneration(std::uint32_t old) {
  const timespec nap{.tv_sec = 0, .tv_nsec = kNapNanoseconds};
  board_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (board_->generation.load(std::memory_order_seq_cst) == old) {
    ::syscall(SYS_futex, &board_->generation, FUTEX_WAIT, old, &nap, nullptr, 0);
  }
  board_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Meeting::allGather(const void* mine, void* all, std::size_t bytes) {
  if (bytes > kTextBytes) fail("too long for an exchange");
  std::memcpy(board_->texts[rank_], mine, bytes);
  barrier();
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks_); ++i) {
    std::memcpy(static_cast<std::byte*>(all) + i * bytes, board_->texts[i], bytes);
  }
  barrier();
}

std::uint64_t Meeting::fromRankZero(std::uint64_t value) {
  std::uint64_t all[kMostRanks];
  allGather(&value, all, sizeof value);
  return all[0];
}

std::uint64_t Meeting::sum(std::uint64_t value) {
  std::uint64_t all[kMostRanks];
  allGather(&value, all, sizeof value);
  std::uint64_t total = 0;
  for (int i = 0; i < ranks_; ++i) {
    total += all[i];
  }
  return total;
}

void Meeting::bounceLine(std::uint64_t bounce) {
  std::atomic<std::uint64_t>& own = rank_ == 0 ? board_->ping : board_->pong;
  const std::atomic<std::uint64_t>& other = rank_ == 0 ? board_->pong : board_->ping;
  if (rank_ == 0) own.store(bounce, std::memory_order_release);
  while (other.load(std::memory_order_acquire) != bounce) {
    relaxProcessor();
  }
  if (rank_ == 1) own.store(bounce, std::memory_order_release);
}

double Meeting::lineHop() {
  if (ranks_ == 1 || !ownsProcessor()) return 0;
  startTogether();
  std::vector<std::uint64_t> taken(kBounces);
  for (std::uint64_t bounce = 1; rank_ < 2 && bounce <= kBounces; ++bounce) {
    const std::uint64_t start = ticks();
    bounceLine(bounce);
    taken[bounce - 1] = ticks() - start;
  }
  std::sort(taken.begin(), taken.end());
  barrier();
  return static_cast<double>(taken[kBounces / 2]) * secondsPerTick_ / 2;
}

std::vector<double> Meeting::slowest(std::span<const double> mine) {
  std::copy(mine.begin(), mine.end(), board_->times[rank_]);
  barrier();
  std::vector<double> result(mine.begin(), mine.end());
  for (int i = 0; i < ranks_; ++i) {
    for (std::size_t call = 0; call < result.size(); ++call) {
      result[call] = std::max(result[call], board_->times[i][call]);
    }
  }
  barrier();
  return result;
}

SharedMemory Meeting::shareMemory(std::size_t bytes) {
  SharedMemoryName names[kMostRanks];
  const SharedMemoryName mine = rank_ == 0 ? SharedMemory::make(bytes) : SharedMemoryName{};
  allGather(&mine, names, sizeof mine);
  SharedMemory memory(names[0], bytes);
  barrier();
  if (rank_ == 0) ::close(mine.descriptor);
  return memory;
}

}  // namespace rondo::race
