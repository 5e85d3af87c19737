// Collectives of two levels: inside each host, where memory is shared, then between hosts, so that
// what crosses the network is added up before and copied after. They are made of the schedules of
// flat algorithms, each run among some of the ranks, and have no steps of their own.
//
//     all_reduce:      direct reduce-scatter inside the host -> all_reduce between hosts
//                                                            -> direct all-gather inside the host
//     reduce_scatter:  direct reduce-scatter inside the host -> direct reduce-scatter between hosts
//     all_gather:      direct all-gather between hosts       -> direct all-gather inside the host
//
// All-reduce of ranks 0 1 2 on one host and 3 4 on another: with fewest() = 2 ranks on a host, a
// piece is cut into two parts. Ranks 0 and 3 add up part 0 of their hosts, 1 and 4 part 1; 0 and 3
// exchange the sums of part 0, 1 and 4 those of part 1; then each hands its part to its host. Ranks
// beyond the fewest own no part.
//
// Data is moved in pieces, which go through the stages one behind the other: a stage is on one
// piece while the one before it is on the next. Reduce-scatter and all-gather want as many ranks on
// each host as on any other, since a block belongs to one rank of each.
//
// An operation is an index here, too: run(stage, i) says by arithmetic what a stage does as its
// i-th run. Runs of one stage follow each other; mayStart() says what they wait for besides. Stages
// share no connection: they differ in peers or in channel. So there is no deadlock: the runs of a
// piece wait for those of earlier pieces and stages only, and each is free of deadlock by itself.
//
// Bytes sent to other hosts, by a host with all-reduce of S: 2 S (h-1)/h for h hosts, instead of
// the fewest() times as many of a flat algorithm whose every rank sends to every other.
// Order: the ranks of each host upwards, rounded to the element's type; then the sums of the hosts
// in the order of their lowest ranks, rounded once.
// Source: Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide
// area systems", PPoPP 1999 (add up before, copy after the slow links), with a part per rank
// instead of one leader for each host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "collectives/registry.h"
#include "collectives/two_level/host_map.h"
#include "collectives/two_level/step_place.h"

namespace rondo {

/// The ranks among which a stage runs.
enum class StageScope : std::uint8_t {
  kInside,   ///< those of one host
  kBetween,  ///< those of one local index, on all hosts
};

/// How the stages are carried out; part of a plan.
struct TwoLevelGeometry {
  AlgorithmId between{};         ///< all_reduce: of the stage between hosts; in rank order
  std::size_t pieceElems = 0;    ///< of the vector, or of each block where there are blocks
  std::size_t insideChunk = 1;   ///< most elements in a slot
  std::size_t betweenChunk = 1;  ///< the same
  std::size_t grain = 1;         ///< as in ScheduleArgs

  friend constexpr bool operator==(const TwoLevelGeometry&, const TwoLevelGeometry&) = default;
};

/// One run of a stage: a schedule, and where its buffers are.
struct StageRun {
  AlgorithmId algorithm{};
  ScheduleArgs args;
  StepPlace place;
};

/// What one rank does in an operation of two levels.
class TwoLevel {
 public:
  static constexpr int kMostStages = 3;

  /// Pieces that may be in scratch at a time: one is filled while the other is sent.
  static constexpr std::size_t kPiecesInScratch = 2;

  /// @param collective all_reduce, reduce_scatter or all_gather; the last two: hosts->even()
  /// @param count      as in the call
  TwoLevel(Collective collective,
           std::shared_ptr<const HostMap> hosts,
           int rank,
           std::size_t count,
           const TwoLevelGeometry& geometry)
      : collective_(collective),
        hosts_(std::move(hosts)),
        count_(count),
        geometry_(geometry),
        host_(hosts_->hostOf(rank)),
        local_(hosts_->localIndex(rank)) {
    const std::span<const int> inside = hosts_->members(host_);
    inside_.assign(inside.begin(), inside.end());
    const auto parts = static_cast<std::size_t>(hosts_->fewest());
    for (int host = 0; host < hosts_->hosts() && local_ < hosts_->fewest(); ++host)
      between_.push_back(hosts_->members(host)[static_cast<std::size_t>(local_)]);
    const std::size_t last = pieces() == 0 ? 0 : piece(pieces() - 1).elems;
    if (collective == Collective::kAllReduce) {
      full_ = partsOf(geometry.pieceElems, parts);
      last_ = partsOf(last, parts);
    } else {
      placeBlocks(last);
    }
  }

  int stages() const { return collective_ == Collective::kAllReduce ? 3 : 2; }

  StageScope scope(int stage) const {
    const bool between = collective_ == Collective::kAllGather ? stage == 0 : stage == 1;
    return between ? StageScope::kBetween : StageScope::kInside;
  }

  /// The ranks that `stage` runs among, by their number there; empty where this rank has no part.
  std::span<const int> members(int stage) const {
    return scope(stage) == StageScope::kInside ? inside_ : between_;
  }

  /// The channel whose connections `stage` uses.
  int channel(int stage) const { return stage == 2 ? 1 : 0; }

  /// Runs of `stage` on this rank.
  std::size_t runs(int stage) const {
    return members(stage).empty() ? 0 : pieces() * runsPerPiece(stage);
  }

  /// Whether run `index` of `stage` may start. In a stage, runs start one after another.
  /// @param done runs that are complete, by stage
  bool mayStart(int stage, std::size_t index, std::span<const std::size_t> done) const {
    const std::size_t piece = index / runsPerPiece(stage);
    for (int before = 0; before < stage; ++before) {
      if (members(before).empty()) continue;
      if (done[static_cast<std::size_t>(before)] < (piece + 1) * runsPerPiece(before)) return false;
    }
    if (stage > 0 || !usesScratch() || members(1).empty()) return true;
    return piece < done[1] / runsPerPiece(1) + kPiecesInScratch;
  }

  /// @param stage that this rank has a part in
  /// @param index below runs()
  StageRun run(int stage, std::size_t index) const {
    switch (collective_) {
      case Collective::kReduceScatter:
        return stage == 0 ? addBlocksInside(index) : addBlocksBetween(index);
      case Collective::kAllGather:
        return stage == 0 ? gatherBlocksBetween(index) : gatherBlocksInside(index);
      default:
        return stage == 0   ? addPartsInside(index)
               : stage == 1 ? addPartBetween(index)
                            : gatherPartsInside(index);
    }
  }

  /// Of the operation, for all its stages together.
  std::size_t scratchElems() const {
    return usesScratch() ? kPiecesInScratch * scratchStride() : 0;
  }

  std::size_t pieces() const {
    return geometry_.pieceElems == 0 ? 0 : ceilDiv(count_, geometry_.pieceElems);
  }

 private:
  /// Arrays for Layout.
  struct Parts {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> offsets;
  };

  static constexpr AlgorithmId kAddDirectly = *findAlgorithm(Collective::kReduceScatter, "direct");
  static constexpr AlgorithmId kGatherDirectly = *findAlgorithm(Collective::kAllGather, "direct");

  std::size_t hosts() const { return static_cast<std::size_t>(hosts_->hosts()); }

  std::size_t local() const { return static_cast<std::size_t>(local_); }

  bool usesScratch() const { return collective_ != Collective::kAllGather; }

  /// Blocks are moved inside a host once for each host that they come from or go to.
  std::size_t runsPerPiece(int stage) const {
    const bool ofBlocks = collective_ != Collective::kAllReduce;
    return ofBlocks && scope(stage) == StageScope::kInside ? hosts() : 1;
  }

  Span piece(std::size_t index) const {
    const std::size_t offset = index * geometry_.pieceElems;
    return {offset, minOf(geometry_.pieceElems, count_ - offset)};
  }

  /// Elements of one piece in scratch.
  std::size_t scratchStride() const {
    if (collective_ == Collective::kReduceScatter) return hosts() * geometry_.pieceElems;
    return full_.counts[local()];
  }

  std::size_t scratchOffset(std::size_t piece) const {
    return piece % kPiecesInScratch * scratchStride();
  }

  /// The parts of a piece that the ranks of this host own.
  Parts partsOf(std::size_t elems, std::size_t parts) const {
    Parts made;
    for (std::size_t local = 0; local < inside_.size(); ++local) {
      const Span part =
          local < parts ? evenShare(elems, parts, local, geometry_.grain) : Span{elems, 0};
      made.counts.push_back(part.elems);
      made.offsets.push_back(part.offset);
    }
    return made;
  }

  /// Notes the places of the blocks of each host's ranks, and of those of this local index.
  void placeBlocks(std::size_t last) {
    const std::size_t most = maxOf(inside_.size(), between_.size());
    full_.counts.assign(most, geometry_.pieceElems);
    last_.counts.assign(most, last);
    for (int host = 0; host < hosts_->hosts(); ++host) {
      for (const int rank : hosts_->members(host))
        blocksInside_.push_back(static_cast<std::size_t>(rank) * count_);
    }
    for (const int rank : between_)
      blocksBetween_.push_back(static_cast<std::size_t>(rank) * count_);
  }

  const Parts& partsIn(std::size_t piece) const { return piece + 1 == pieces() ? last_ : full_; }

  ScheduleArgs argsOf(StageScope scope) const {
    const bool inside = scope == StageScope::kInside;
    ScheduleArgs args;
    args.rank = inside ? local_ : host_;
    args.ranks = static_cast<int>(inside ? inside_.size() : between_.size());
    args.chunkElems = inside ? geometry_.insideChunk : geometry_.betweenChunk;
    args.grain = geometry_.grain;
    return args;
  }

  // All-reduce.

  StageRun addPartsInside(std::size_t index) const {
    StageRun run{kAddDirectly, argsOf(StageScope::kInside), {}};
    const Parts& parts = partsIn(index);
    run.args.layout = Layout(parts.counts.data(), parts.offsets.data());
    run.place = {.inputOffset = piece(index).offset,
                 .output = Sink::kScratch,
                 .outputOffset = scratchOffset(index),
                 .completes = false};
    return run;
  }

  StageRun addPartBetween(std::size_t index) const {
    StageRun run{geometry_.between, argsOf(StageScope::kBetween), {}};
    const Parts& parts = partsIn(index);
    run.args.share = {0, parts.counts[local()]};
    run.args.layout = run.args.outputLayout = Layout(run.args.share.elems);
    run.place = {.input = Source::kScratch,
                 .inputOffset = scratchOffset(index),
                 .outputOffset = piece(index).offset + parts.offsets[local()]};
    return run;
  }

  StageRun gatherPartsInside(std::size_t index) const {
    StageRun run{kGatherDirectly, argsOf(StageScope::kInside), {}};
    const Parts& parts = partsIn(index);
    const std::size_t begin = piece(index).offset;
    run.args.layout = Layout(parts.counts.data(), parts.offsets.data());
    run.place = {.input = Source::kOutput,
                 .inputOffset = begin + parts.offsets[local()],
                 .outputOffset = begin,
                 .inputIsInPlace = true};
    return run;
  }

  // Blocks.

  const std::size_t* countsOf(std::size_t piece) const { return partsIn(piece).counts.data(); }

  /// Where the blocks of the ranks of `host` are.
  const std::size_t* blocksOf(std::size_t host) const {
    return blocksInside_.data() + host * inside_.size();
  }

  StageRun addBlocksInside(std::size_t index) const {
    StageRun run{kAddDirectly, argsOf(StageScope::kInside), {}};
    const std::size_t at = index / hosts();
    const std::size_t host = index % hosts();
    run.args.layout = Layout(countsOf(at), blocksOf(host));
    run.place = {.inputOffset = piece(at).offset,
                 .output = Sink::kScratch,
                 .outputOffset = scratchOffset(at) + host * geometry_.pieceElems,
                 .completes = false};
    return run;
  }

  StageRun addBlocksBetween(std::size_t index) const {
    StageRun run{kAddDirectly, argsOf(StageScope::kBetween), {}};
    run.args.layout = Layout(geometry_.pieceElems);
    run.args.share = {0, piece(index).elems};
    run.place = {.input = Source::kScratch,
                 .inputOffset = scratchOffset(index),
                 .outputOffset = piece(index).offset};
    return run;
  }

  StageRun gatherBlocksBetween(std::size_t index) const {
    StageRun run{kGatherDirectly, argsOf(StageScope::kBetween), {}};
    run.args.layout = Layout(countsOf(index), blocksBetween_.data());
    run.place = {.inputOffset = piece(index).offset, .outputOffset = piece(index).offset};
    return run;
  }

  StageRun gatherBlocksInside(std::size_t index) const {
    StageRun run{kGatherDirectly, argsOf(StageScope::kInside), {}};
    const std::size_t at = index / hosts();
    const std::size_t* const blocks = blocksOf(index % hosts());
    run.args.layout = Layout(countsOf(at), blocks);
    run.place = {.input = Source::kOutput,
                 .inputOffset = blocks[local()] + piece(at).offset,
                 .outputOffset = piece(at).offset,
                 .inputIsInPlace = true};
    return run;
  }

  Collective collective_;
  std::shared_ptr<const HostMap> hosts_;  // shared by the plans of a communicator
  std::size_t count_;
  TwoLevelGeometry geometry_;
  int host_;
  int local_;
  std::vector<int> inside_;
  std::vector<int> between_;
  Parts full_;  // of all pieces but the last
  Parts last_;
  std::vector<std::size_t> blocksInside_;  // by host and local index
  std::vector<std::size_t> blocksBetween_;
};

}  // namespace rondo
