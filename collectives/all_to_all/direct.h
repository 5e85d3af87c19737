// Direct all-to-all: every rank sends each other rank its block, then collects theirs. One hop,
// where every pair of ranks is directly connected.
//
// Four ranks, blocks of rank 0:   0 --B--> 1,  0 --C--> 2,  0 --D--> 3;   A stays
//
// Loop i+1 is sent before loop i is collected, so that collecting rarely waits. In place works: a
// chunk is sent before the one that takes its place is stored.
// Per loop and rank: 2n-1 steps, n-1 slots sent. Hops: 1.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/block_partition.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllToAllDirect : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllToAll,
      .name = "direct",
      .summary = "every block goes straight to its rank, to all at a time; one hop",
      .minSlots = 2,
      .variedBlocks = true,
      .storesOverSentInput = true,
  };

  RONDO_HD constexpr explicit AllToAllDirect(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        input_(args, args.layout),
        output_(args, args.outputLayout),
        phases_(maxOf(input_.loops(), output_.loops()), 1, others(), others() + 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const int peer = at.second ? peerBeforeAtTurn(at.turn) : peerAtTurn(at.turn);
    const Span chunk = (at.second ? output_ : input_).chunk(peer, at.loop);
    Step step;
    if (chunk.elems == 0) return step;
    step.inputOffset = input_.offset(peer) + chunk.offset;
    step.outputOffset = output_.offset(peer) + chunk.offset;
    step.elems = chunk.elems;
    if (!at.second) {
      step.own = Source::kInput;
      step.send = only(peer);
      return step;
    }
    step.to = Sink::kOutput;
    if (peer == rank()) {
      step.own = Source::kInput;
    } else {
      step.recv = only(peer);
    }
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const Cost sent = input_.costOfAllBut(rank());
    return {.steps = size(),
            .slotsSent = sent.slotsSent,
            .elemsSent = sent.elemsSent,
            .hops = others() > 0 ? 1U : 0U};
  }

 private:
  BlockPartition input_;
  BlockPartition output_;
  LaggedPhases phases_;
};

}  // namespace rondo
