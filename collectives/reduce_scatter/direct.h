// Direct reduce-scatter: every rank sends each owner its block; the owner adds all of them up. One
// hop and the least data, where every pair of ranks is directly connected.
//
// Four ranks, block of rank 1:   0 --A--> 1,  2 --C--> 1,  3 --D--> 1;   then 1: A B C D
//
// Loop i is sent before loop i-1 is added up, so that the sum never waits.
// Per loop and rank: n steps, n-1 slots sent. Hops: 1.
// Order: ranks 0, 1, ..., n-1; rounded once.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/block_partition.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class ReduceScatterDirect : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kReduceScatter,
      .name = "direct",
      .summary = "blocks go straight to their owners; one hop, least data; reproducible",
      .order = FoldOrder::kRankOrder,
      .minSlots = 2,
      .variedBlocks = true,
  };

  RONDO_HD constexpr explicit ReduceScatterDirect(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        blocks_(args, args.layout),
        phases_(blocks_.loops(), 1, others(), 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const int owner = at.second ? rank() : peerAtTurn(at.turn);
    const Span chunk = blocks_.chunk(owner, at.loop);
    Step step;
    if (chunk.elems == 0) return step;
    step.inputOffset = blocks_.offset(owner) + chunk.offset;
    step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = Source::kInput;
    if (!at.second) {
      step.send = only(owner);
      return step;
    }
    step.recv = everyone();
    step.ownPosition = rank();
    step.to = Sink::kOutput;
    step.last = true;
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const Cost sent = blocks_.costOfAllBut(rank());
    return {.steps = size(),
            .slotsSent = sent.slotsSent,
            .elemsSent = sent.elemsSent,
            .elemsAdded = blocks_.costOf(rank()).elemsSent * others(),
            .hops = others() > 0 ? 1U : 0U};
  }

 private:
  BlockPartition blocks_;
  LaggedPhases phases_;
};

}  // namespace rondo
