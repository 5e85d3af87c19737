// No library, but about the best that shared memory allows: buffers lie in memory that all ranks
// have mapped, so each rank reads the others' inputs and writes its share of all results, with no
// copy between. A program whose buffers are its own cannot do this.
//
//   up to 2 KiB   each rank puts its input into a mailbox of its own, the data's first words in the
//                 cache line of the flag; the others take it from there
//   above         all wait until all are there, work on each other's buffers, and wait again
//   from 8 MiB    results pass by the cache (non-temporal stores)
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include <sched.h>

#include "perf/race/harness/launch.h"
#include "perf/race/harness/processors.h"
#include "perf/race/libraries/stream_copy.h"
#include "perf/race/libraries/sum.h"

namespace rondo::race {

namespace {

using host::Operand;
using host::Target;

constexpr std::size_t kMailBytes = 2048;
/// Letters that a rank may be ahead of the slowest reader.
constexpr std::uint64_t kMailboxDepth = 64;
/// A rank tells how many letters it is through with once in so many, and looks as often.
constexpr std::uint64_t kMailsPerReport = kMailboxDepth / 4;
/// All buffers of a call together, from where on they do not stay in the caches.
constexpr std::size_t kStreamedBytes = 8 << 20;
/// Sums on their way past the cache: a quarter of a level-1 cache.
constexpr std::size_t kBlockBytes = 8192;
constexpr int kPollsBeforeYield = 50;

struct alignas(64) Counter {
  std::atomic<std::uint64_t> value;
};

struct alignas(64) Letter {
  static constexpr std::size_t kShortBytes = 56;

  std::byte* text(std::size_t bytes) { return bytes <= kShortBytes ? shortText : longText; }

  std::atomic<std::uint64_t> number;
  std::byte shortText[kShortBytes];
  std::byte longText[kMailBytes];
};

/// What a rank writes and the others read.
struct Desk {
  Counter phase;
  Counter lettersDone;
  Letter letters[kMailboxDepth];
};

class Ideal final : public Library {
 public:
  explicit Ideal(Meeting& meeting)
      : meeting_(meeting),
        deskMemory_(meeting.shareMemory(sizeof(Desk) * static_cast<std::size_t>(meeting.ranks()))),
        desks_(reinterpret_cast<Desk*>(deskMemory_.data())) {}

  bool supports(const Work&) const override { return true; }

  std::byte* allocate(std::size_t bytes) override;

  void run(const Work& work) override;

 private:
  using Ranks = std::array<int, Meeting::kMostRanks>;

  void waitFor(const Counter& counter, std::uint64_t value) const { waitFor(counter.value, value); }

  void waitFor(const std::atomic<std::uint64_t>& counter, std::uint64_t value) const;

  void runByMail(const Work& work);

  void awaitRoom();

  const std::byte* letterFrom(int rank, std::size_t bytes);

  void waitForAll();

  void runOnBuffers(const Work& work);

  void sumShare(const Work& work) const;

  void sumStreamed(const Work& work,
                   std::span<const Target> targets,
                   std::span<const Operand> sources,
                   std::size_t elements) const;

  void copy(const Work& work, std::byte* to, const std::byte* from, std::size_t bytes) const;

  std::byte* inputOf(int rank) const { return bufferOf(0, rank); }

  std::byte* resultOf(const Work& work, int rank) const {
    return bufferOf(work.inPlace ? 0 : 1, rank);
  }

  std::byte* bufferOf(std::size_t which, int rank) const {
    return buffers_[which].data() + static_cast<std::size_t>(rank) * bufferBytes_;
  }

  bool isStreamed(const Work& work) const {
    return work.bytes() * static_cast<std::size_t>(work.ranks) >= kStreamedBytes;
  }

  Meeting& meeting_;
  SharedMemory deskMemory_;
  Desk* desks_;
  std::vector<SharedMemory> buffers_;
  std::size_t bufferBytes_ = 0;
  std::uint64_t phase_ = 0;
  std::uint64_t letter_ = 0;
};

std::byte* Ideal::allocate(std::size_t bytes) {
  constexpr std::size_t kPageBytes = 4096;
  bufferBytes_ = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::size_t allBytes = bufferBytes_ * static_cast<std::size_t>(meeting_.ranks());
  buffers_.push_back(meeting_.shareMemory(allBytes));
  std::byte* mine = bufferOf(buffers_.size() - 1, meeting_.rank());
  std::memset(mine, 0, bufferBytes_);
  meeting_.barrier();
  // The others' pages are mapped now and not in the first call.
  for (std::size_t at = 0; at < allBytes; at += kPageBytes) {
    static_cast<void>(*const_cast<const volatile std::byte*>(buffers_.back().data() + at));
  }
  return mine;
}

void Ideal::waitFor(const std::atomic<std::uint64_t>& counter, std::uint64_t value) const {
  for (int polls = 1; counter.load(std::memory_order_acquire) < value; ++polls) {
    relaxProcessor();
    if (meeting_.isCrowded() && polls % kPollsBeforeYield == 0) ::sched_yield();
  }
}

void Ideal::run(const Work& work) {
  if (work.bytes() <= kMailBytes) return runByMail(work);
  waitForAll();
  runOnBuffers(work);
  waitForAll();
}

/// Before a letter is overwritten that somebody may not have read.
void Ideal::awaitRoom() {
  if (letter_ % kMailsPerReport != 0) return;
  desks_[meeting_.rank()].lettersDone.value.store(letter_, std::memory_order_release);
  const std::uint64_t ahead = kMailboxDepth - kMailsPerReport;
  if (letter_ < ahead) return;
  for (int rank = 0; rank < meeting_.ranks(); ++rank) {
    waitFor(desks_[rank].lettersDone, letter_ - ahead);
  }
}

const std::byte* Ideal::letterFrom(int rank, std::size_t bytes) {
  Letter& letter = desks_[rank].letters[letter_ % kMailboxDepth];
  waitFor(letter.number, letter_);
  return letter.text(bytes);
}

void Ideal::runByMail(const Work& work) {
  awaitRoom();
  ++letter_;
  const std::size_t bytes = work.sendCount() * elementBytes(work.type);
  const std::size_t block = work.blockBytes();
  const auto rank = static_cast<std::size_t>(work.rank);
  if (work.operation != Operation::kBroadcast || work.isRoot()) {
    Letter& mine = desks_[work.rank].letters[letter_ % kMailboxDepth];
    std::memcpy(mine.text(bytes), work.send, bytes);
    mine.number.store(letter_, std::memory_order_release);
  }
  const auto copyBlocks = [&](std::size_t offset) {
    for (int from = 0; from < work.ranks; ++from) {
      std::memcpy(work.recv + static_cast<std::size_t>(from) * block,
                  letterFrom(from, bytes) + offset, block);
    }
  };
  const auto sum = [&](std::size_t offset, std::size_t elements) {
    std::array<Operand, Meeting::kMostRanks> sources;
    for (int from = 0; from < work.ranks; ++from) {
      sources[static_cast<std::size_t>(from)] = {letterFrom(from, bytes) + offset};
    }
    const Target target{work.recv};
    sumInto(work.type, {&target, 1}, {sources.data(), static_cast<std::size_t>(work.ranks)},
            elements);
  };
  switch (work.operation) {
    case Operation::kReduce:
      if (!work.isRoot()) return;
      [[fallthrough]];
    case Operation::kAllReduce:
      return sum(0, work.count);
    case Operation::kReduceScatter:
      return sum(rank * block, work.blockCount);
    case Operation::kAllGather:
      return copyBlocks(0);
    case Operation::kAllToAll:
      return copyBlocks(rank * block);
    case Operation::kBroadcast:
      std::memmove(work.recv, letterFrom(Work::kRoot, bytes), bytes);
      return;
    case Operation::kSendRecv:
      std::memcpy(work.recv, letterFrom(work.previous(), bytes), bytes);
      return;
  }
}

void Ideal::waitForAll() {
  ++phase_;
  desks_[meeting_.rank()].phase.value.store(phase_, std::memory_order_release);
  for (int rank = 0; rank < meeting_.ranks(); ++rank) {
    waitFor(desks_[rank].phase, phase_);
  }
}

void Ideal::copy(const Work& work, std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (isStreamed(work)) return streamCopy(to, from, bytes);
  std::memcpy(to, from, bytes);
}

/// The rank's share of a sum: for an all-reduce into all results, for a reduce into the root's.
void Ideal::sumShare(const Work& work) const {
  constexpr std::size_t kLineBytes = 64;
  const auto ranks = static_cast<std::size_t>(work.ranks);
  const auto rank = static_cast<std::size_t>(work.rank);
  const std::size_t lineElements = kLineBytes / elementBytes(work.type);
  const std::size_t share =
      ((work.count + ranks - 1) / ranks + lineElements - 1) / lineElements * lineElements;
  const bool isScatter = work.operation == Operation::kReduceScatter;
  const std::size_t start = isScatter ? rank * work.blockCount : std::min(work.count, share * rank);
  const std::size_t end = isScatter ? start + work.blockCount : std::min(work.count, start + share);
  const std::size_t offset = start * elementBytes(work.type);

  std::array<Operand, Meeting::kMostRanks> sources;
  std::array<Target, Meeting::kMostRanks> targets;
  std::size_t targetCount = 1;
  targets[0] = {isScatter ? work.recv : resultOf(work, Work::kRoot) + offset};
  for (std::size_t i = 0; i < ranks; ++i) {
    // From its own on, so that no two ranks read the same buffer first.
    sources[i] = {inputOf(static_cast<int>((rank + i) % ranks)) + offset};
    if (work.operation != Operation::kAllReduce) continue;
    targets[i] = {resultOf(work, static_cast<int>(i)) + offset};
    targetCount = ranks;
  }
  const std::span usedTargets(targets.data(), targetCount);
  const std::span usedSources(sources.data(), ranks);
  if (isStreamed(work)) return sumStreamed(work, usedTargets, usedSources, end - start);
  sumInto(work.type, usedTargets, usedSources, end - start);
}

void Ideal::sumStreamed(const Work& work,
                        std::span<const Target> targets,
                        std::span<const Operand> sources,
                        std::size_t elements) const {
  alignas(64) std::byte block[kBlockBytes];
  const Target toBlock{block};
  const std::size_t bytes = elements * elementBytes(work.type);
  std::vector<Operand> at(sources.begin(), sources.end());
  for (std::size_t done = 0; done < bytes; done += kBlockBytes) {
    const std::size_t part = std::min(kBlockBytes, bytes - done);
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i].data = static_cast<const std::byte*>(sources[i].data) + done;
    }
    sumInto(work.type, {&toBlock, 1}, at, part / elementBytes(work.type));
    for (const Target& target : targets) {
      streamCopy(static_cast<std::byte*>(target.data) + done, block, part);
    }
  }
}

void Ideal::runOnBuffers(const Work& work) {
  const std::size_t block = work.blockBytes();
  std::byte* result = resultOf(work, work.rank);
  const auto offsetOf = [&](int rank) { return static_cast<std::size_t>(rank) * block; };
  switch (work.operation) {
    case Operation::kAllReduce:
    case Operation::kReduce:
    case Operation::kReduceScatter:
      return sumShare(work);
    case Operation::kAllGather:
      for (int i = 0; i < work.ranks; ++i) {
        const int from = (work.rank + i) % work.ranks;
        if (work.inPlace && from == work.rank) continue;
        const std::size_t start = work.inPlace ? offsetOf(from) : 0;
        copy(work, result + offsetOf(from), inputOf(from) + start, block);
      }
      return;
    case Operation::kAllToAll:
      for (int i = 0; i < work.ranks; ++i) {
        const int from = (work.rank + i) % work.ranks;
        copy(work, result + offsetOf(from), inputOf(from) + offsetOf(work.rank), block);
      }
      return;
    case Operation::kBroadcast:
      if (work.inPlace && work.isRoot()) return;
      return copy(work, result, inputOf(Work::kRoot), work.bytes());
    case Operation::kSendRecv:
      return copy(work, result, inputOf(work.previous()), work.bytes());
  }
}

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSpin, [](race::Meeting& meeting) {
    return std::make_unique<race::Ideal>(meeting);
  });
}
