// Rank-order chain reduce: the reproducible reduce. Partial sums in the accumulator's type travel
// from rank 0 to rank n-1, each rank adding its contribution at its place; the last rank rounds
// once and sends the result straight to the root.
//
// Four ranks, root 1:   0 ==A==> 1 ==AB==> 2 ==ABC==> 3 (ABCD, rounded once) --> 1
//
// The root stores the result of loop i right after it passed on the sums of loop i + (n-1 - root),
// the number of links between it and the end, so that it never waits for what it has just sent.
//
// Per loop and rank: 1 step (a root other than n-1: 2), 1 slot sent (none by rank n-1 as root).
// Hops: n-1, one more unless the root is n-1.
// Order: ranks 0, 1, ..., n-1; rounded once.
#pragma once

#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class ReduceChain {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kReduce,
      .name = "chain",
      .summary = "sums travel rank 0 to n-1 unrounded, the result to the root; reproducible",
      .order = FoldOrder::kRankOrder,
      .minSlots = 1,
      .widePartials = true,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit ReduceChain(const ScheduleArgs& args)
      : rank_(args.rank),
        ranks_(args.ranks),
        root_(args.root),
        partition_(args.share, 1, args.chunkElems, args.grain),
        phases_(partition_.loops(), lag(), 1, awaitsResult() ? 1 : 0) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const Span chunk = partition_.chunk(at.loop);
    Step step = at.second ? storeResult() : addOwn();
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return lower().count + (awaitsResult() ? 1 : 0); }

  RONDO_HD constexpr int recvPeer(int entry) const {
    return entry < lower().count ? rank_ - 1 : ranks_ - 1;
  }

  RONDO_HD constexpr int sendPeers() const { return isEnd() && rank_ == root_ ? 0 : 1; }

  RONDO_HD constexpr int sendPeer(int) const { return isEnd() ? root_ : rank_ + 1; }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto sends = static_cast<std::size_t>(sendPeers());
    const std::size_t elems = partition_.elems() * sends;
    return {.steps = size(),
            .slotsSent = partition_.loops() * sends,
            .elemsSent = isEnd() ? elems : 0,
            .wideElemsSent = isEnd() ? 0 : elems,
            .elemsAdded = partition_.elems() * static_cast<std::size_t>(lower().count),
            .hops = static_cast<std::size_t>(ranks_ - 1 + (root_ == ranks_ - 1 ? 0 : 1))};
  }

 private:
  RONDO_HD constexpr bool isEnd() const { return rank_ == ranks_ - 1; }

  /// True at a root that is not the end of the chain: the result comes back to it.
  RONDO_HD constexpr bool awaitsResult() const { return rank_ == root_ && !isEnd(); }

  RONDO_HD constexpr std::size_t lag() const {
    return awaitsResult() ? static_cast<std::size_t>(ranks_ - 1 - rank_) : 0;
  }

  RONDO_HD constexpr PeerRange lower() const { return {0, rank_ > 0 ? 1 : 0}; }

  RONDO_HD constexpr Step addOwn() const {
    Step step;
    step.recv = lower();
    step.send = {0, sendPeers()};
    step.recvWire = Wire::kAccumulator;
    step.sendWire = isEnd() ? Wire::kNative : Wire::kAccumulator;
    step.own = Source::kInput;
    step.ownPosition = lower().count;
    step.to = isEnd() && rank_ == root_ ? Sink::kOutput : Sink::kNone;
    step.last = isEnd();
    return step;
  }

  RONDO_HD constexpr Step storeResult() const {
    Step step;
    step.recv = {lower().count, 1};
    step.to = Sink::kOutput;
    return step;
  }

  int rank_;
  int ranks_;
  int root_;
  LoopPartition partition_;
  LaggedPhases phases_;
};

}  // namespace rondo
