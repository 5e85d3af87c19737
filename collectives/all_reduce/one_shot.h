// One-shot all-reduce: every rank sends its whole input to every other rank, and each adds all of
// them up for itself. One hop, so it is the fastest for small messages; it moves n-1 times the
// data.
//
// Four ranks:   0 --A--> 1 2 3,  1 --B--> 0 2 3,  2 --C--> 0 1 3,  3 --D--> 0 1 2
//               then everyone: A B C D
//
// Loop i is sent before loop i-1 is added up, so that the sum never waits.
// Per loop and rank: 2 steps, n-1 slots sent. Hops: 1.
// Order: ranks 0, 1, ..., n-1; rounded once.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceOneShot : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "one_shot",
      .summary = "everyone sends everything to everyone; one hop, for small messages; reproducible",
      .order = FoldOrder::kRankOrder,
      .minSlots = 2,
      .storesOverSentInput = true,
  };

  RONDO_HD constexpr explicit AllReduceOneShot(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        partition_(args.share, 1, args.chunkElems, args.grain),
        phases_(partition_.loops(), 1, others() > 0 ? 1 : 0, 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const Span chunk = partition_.chunk(at.loop);
    Step step;
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = Source::kInput;
    if (!at.second) {
      step.send = everyone();
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
    return {.steps = size(),
            .slotsSent = partition_.loops() * others(),
            .elemsSent = partition_.elems() * others(),
            .elemsAdded = partition_.elems() * others(),
            .hops = others() > 0 ? 1U : 0U};
  }

 private:
  LoopPartition partition_;
  LaggedPhases phases_;
};

}  // namespace rondo
