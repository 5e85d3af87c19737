// What a schedule is: the contract between the algorithms in this folder and everything that runs,
// proves, prices or draws them.
//
// A schedule is the whole work of one rank on one channel for one operation, as a pure function
// from step number to step. It holds no buffer and no state, allocates nothing, and depends only on
// its arguments: never on data, addresses, slot depth or time. That is why one execution order
// proves all.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectives/partition.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

/// The operations. Names for people: collectiveName().
enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kBarrier,
  kAllToAll,
  kGather,
  kScatter,
};

inline constexpr int kCollectiveCount = 9;

/// "all_reduce", "reduce_scatter", ...: the spelling of commands, messages and overrides.
constexpr std::string_view collectiveName(Collective collective) {
  constexpr std::string_view kNames[kCollectiveCount] = {
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
      "barrier",    "all_to_all",     "gather",     "scatter"};
  const auto place = static_cast<std::size_t>(collective);
  return place < kCollectiveCount ? kNames[place] : "unknown";
}

constexpr bool isReduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

constexpr bool hasRoot(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

/// Where each rank's block lies in a buffer that holds one per rank, as collectives/buffers.h says
/// of each operation: blocks of one size, in rank order, or of any sizes at any places.
class Layout {
 public:
  constexpr Layout() = default;

  RONDO_HD constexpr explicit Layout(std::size_t blockElems) : blockElems_(blockElems) {}

  /// Arrays by rank, in elements; not owned. Host memory only.
  constexpr Layout(const std::size_t* counts, const std::size_t* offsets)
      : counts_(counts), offsets_(offsets) {}

  RONDO_HD constexpr bool isUniform() const { return counts_ == nullptr; }

  /// First element of the block of `rank`.
  RONDO_HD constexpr std::size_t offset(int rank) const {
    return isUniform() ? static_cast<std::size_t>(rank) * blockElems_ : offsets_[rank];
  }

  /// The part of the block of `rank` that a channel moves, from where the block begins.
  /// @param share the channel's, if all blocks are of one size; else there is one channel only
  RONDO_HD constexpr Span part(int rank, Span share) const {
    return isUniform() ? share : Span{0, counts_[rank]};
  }

 private:
  std::size_t blockElems_ = 0;
  const std::size_t* counts_ = nullptr;
  const std::size_t* offsets_ = nullptr;
};

/// Everything a schedule is made from. All fields but `rank` are the same on all ranks.
struct ScheduleArgs {
  int rank = 0;
  int ranks = 1;
  int root = 0;         ///< where there is one: hasRoot()
  int channel = 0;      ///< the double tree takes its tree from this number's parity
  Layout layout;        ///< of the buffer that holds a block per rank; of the input, if both do
  Layout outputLayout;  ///< of the output, if both do
  /// This channel's part of the buffer; of each block, where a buffer holds one per rank.
  Span share;
  std::size_t chunkElems = 1;  ///< most elements in one slot; a multiple of `grain`
  std::size_t grain = 1;       ///< elements; keeps chunk boundaries on cache lines
};

/// In which order and precision an algorithm adds (docs/numerics.md).
enum class FoldOrder : std::uint8_t {
  kNone,       ///< moves data only
  kRankOrder,  ///< ranks 0..n-1, in the accumulator's type, rounded once
  kHopRounded  ///< the order of the algorithm's path, rounded to the element's type at each hop
};

/// One row of the registry: what planner, help, docs and tests know of an algorithm.
struct AlgorithmInfo {
  Collective collective = Collective::kAllReduce;
  std::string_view name;     ///< unique within its collective; used in overrides and tables
  std::string_view summary;  ///< one line for people: how it works and what it is good at
  FoldOrder order = FoldOrder::kNone;
  int minSlots = 2;         ///< fewest slots per connection it is free of deadlock with
  int naturalChannels = 1;  ///< channels needed for its full effect (the double tree: one per tree)
  /// Partial sums travel in the accumulator's type, so a slot holds fewer elements.
  bool widePartials = false;
  bool variedBlocks = false;  ///< blocks may be of different sizes
  /// Some ranks have nothing to do until the first chunk has come to them, and others nothing after
  /// the last, so that small chunks shorten the whole; else all work on their chunks at once.
  bool pipelined = false;
  /// One slot carries rows of up to ranks/2 blocks, so that only the largest chunk makes sense.
  bool aggregatesBlocks = false;
  /// In place a rank may store over input that it has sent, but that was not read yet: it must have
  /// been copied into slots (transports/memory_names.h).
  bool storesOverSentInput = false;
};

/// What one rank's schedule does in total; each algorithm gives it in closed form.
struct Cost {
  std::size_t steps = 0;
  std::size_t slotsSent = 0;      ///< slots posted
  std::size_t elemsSent = 0;      ///< elements in those slots, native wire
  std::size_t wideElemsSent = 0;  ///< elements in those slots, accumulator wire
  std::size_t elemsAdded = 0;  ///< to others of the same step: one less than a step's sources each
  /// Connections on the longest chain of steps that wait for one another, from the start of a
  /// single loop until it is complete everywhere. No chunk crosses more.
  std::size_t hops = 0;

  friend constexpr bool operator==(const Cost&, const Cost&) = default;
};

/// The shape of every algorithm. Tables list the peers this rank receives from and sends to; steps
/// name ranges of them. Every entry is used by some step when the share is not empty.
template <class S>
concept Schedule = std::constructible_from<S, const ScheduleArgs&> &&
    requires(const S& schedule, std::size_t index, int entry) {
  { S::kInfo } -> std::convertible_to<const AlgorithmInfo&>;
  { schedule.size() } -> std::same_as<std::size_t>;
  { schedule.step(index) } -> std::same_as<Step>;
  { schedule.recvPeers() } -> std::same_as<int>;
  { schedule.recvPeer(entry) } -> std::same_as<int>;
  { schedule.sendPeers() } -> std::same_as<int>;
  { schedule.sendPeer(entry) } -> std::same_as<int>;
  { schedule.scratchElems() } -> std::same_as<std::size_t>;
  { schedule.cost() } -> std::same_as<Cost>;
};

}  // namespace rondo
