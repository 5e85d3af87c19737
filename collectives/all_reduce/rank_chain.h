// Rank-order chain all-reduce: the reproducible algorithm for large messages. Partial sums in the
// accumulator's type travel from rank 0 to rank n-1, each rank adding its contribution at its
// place; the last rank rounds once and sends the result back down. Both flows are pipelined and use
// the opposite directions of each link, so the chain moves data at ring bandwidth (two thirds of it
// for 16-bit types, whose sums travel as 32 bits).
//
// Four ranks:   0 ==A==> 1 ==AB==> 2 ==ABC==> 3 (ABCD, rounded once)     == accumulator's type
//               0 <------ 1 <------ 2 <------ 3                          -- element's type
//
// A rank at distance d from the end runs down(i) right after up(i + 2d-1), as in the tree.
//
// Per loop: rank n-1 1 step, others 2. Slots sent: 2, ends 1. Hops: 2(n-1).
// Order: ranks 0, 1, ..., n-1; rounded once.
#pragma once

#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceRankChain {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "chain",
      .summary =
          "sums travel rank 0 to n-1 unrounded, results back; reproducible at ring bandwidth",
      .order = FoldOrder::kRankOrder,
      .minSlots = 1,
      .widePartials = true,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit AllReduceRankChain(const ScheduleArgs& args)
      : rank_(args.rank),
        ranks_(args.ranks),
        partition_(args.share, 1, args.chunkElems, args.grain),
        phases_(partition_.loops(), isEnd() ? 0 : lag(), 1, isEnd() ? 0 : 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const Span chunk = partition_.chunk(at.loop);
    Step step = at.second ? down() : up();
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return lower().count + upper().count; }

  RONDO_HD constexpr int recvPeer(int entry) const { return neighbour(entry); }

  RONDO_HD constexpr int sendPeers() const { return recvPeers(); }

  RONDO_HD constexpr int sendPeer(int entry) const { return neighbour(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto ups = static_cast<std::size_t>(upper().count);
    const auto downs = static_cast<std::size_t>(lower().count);
    return {.steps = size(),
            .slotsSent = partition_.loops() * (ups + downs),
            .elemsSent = partition_.elems() * downs,
            .wideElemsSent = partition_.elems() * ups,
            .elemsAdded = partition_.elems() * downs,
            .hops = 2 * static_cast<std::size_t>(ranks_ - 1)};
  }

 private:
  RONDO_HD constexpr bool isEnd() const { return rank_ == ranks_ - 1; }

  RONDO_HD constexpr std::size_t lag() const {
    return static_cast<std::size_t>(2 * (ranks_ - 1 - rank_) - 1);
  }

  /// The neighbour towards rank 0 and the one towards rank n-1, as ranges of both peer tables.
  RONDO_HD constexpr PeerRange lower() const { return {0, rank_ > 0 ? 1 : 0}; }

  RONDO_HD constexpr PeerRange upper() const { return {lower().count, isEnd() ? 0 : 1}; }

  RONDO_HD constexpr int neighbour(int entry) const {
    return entry < lower().count ? rank_ - 1 : rank_ + 1;
  }

  RONDO_HD constexpr Step up() const {
    Step step;
    step.recv = lower();
    step.send = isEnd() ? lower() : upper();
    step.recvWire = Wire::kAccumulator;
    step.sendWire = isEnd() ? Wire::kNative : Wire::kAccumulator;
    step.own = Source::kInput;
    step.ownPosition = lower().count;
    step.to = isEnd() ? Sink::kOutput : Sink::kNone;
    step.last = isEnd();
    return step;
  }

  RONDO_HD constexpr Step down() const {
    Step step;
    step.recv = upper();
    step.send = lower();
    step.to = Sink::kOutput;
    return step;
  }

  int rank_;
  int ranks_;
  LoopPartition partition_;
  LaggedPhases phases_;
};

}  // namespace rondo
