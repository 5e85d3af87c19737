// Direct all-gather: every rank sends its block to all others in one step and stores theirs as they
// come. One hop, where every pair of ranks is directly connected.
//
// Four ranks, block of rank 0:   0 --A--> 1, 2, 3
//
// Loop i+1 is sent before loop i is collected, so that collecting rarely waits.
// Per loop and rank: n steps, n-1 slots sent. Hops: 1.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/block_partition.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllGatherDirect : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllGather,
      .name = "direct",
      .summary = "every block goes straight to everyone; one hop",
      .minSlots = 2,
      .variedBlocks = true,
  };

  RONDO_HD constexpr explicit AllGatherDirect(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        blocks_(args, args.layout),
        phases_(blocks_.loops(), 1, 1, others()) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const int owner = at.second ? peerAtTurn(at.turn) : rank();
    const Span chunk = blocks_.chunk(owner, at.loop);
    Step step;
    if (chunk.elems == 0) return step;
    step.inputOffset = chunk.offset;
    step.outputOffset = blocks_.offset(owner) + chunk.offset;
    step.elems = chunk.elems;
    step.to = Sink::kOutput;
    if (at.second) {
      step.recv = only(owner);
    } else {
      step.own = Source::kInput;
      step.send = everyone();
    }
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const Cost own = blocks_.costOf(rank());
    return {.steps = size(),
            .slotsSent = own.slotsSent * others(),
            .elemsSent = own.elemsSent * others(),
            .hops = others() > 0 ? 1U : 0U};
  }

 private:
  BlockPartition blocks_;
  LaggedPhases phases_;
};

}  // namespace rondo
