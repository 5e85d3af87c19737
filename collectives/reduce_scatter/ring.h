// Ring reduce-scatter: the first half of the ring all-reduce. The block of each rank starts at the
// rank after it, travels the ring collecting contributions and ends, complete, at its owner.
//
// Four ranks, block of rank 0:   1 --B--> 2 --BC--> 3 --BCD--> 0 (BCDA, complete)
//
// Per loop and rank: n steps, n-1 slots sent. Hops: n-1.
// Order: owner+1, owner+2, ..., owner; rounded at each hop. Source: as all_reduce/ring.h.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"

namespace rondo {

class ReduceScatterRing : public RingPlace {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kReduceScatter,
      .name = "ring",
      .summary = "blocks travel the ring to their owners; least data per link, n-1 hops",
      .order = FoldOrder::kHopRounded,
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit ReduceScatterRing(const ScheduleArgs& args)
      : RingPlace(args.rank, args.ranks),
        layout_(args.layout),
        partition_(args.share, 1, args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const int turn = static_cast<int>(index % stepsPerLoop());
    const int block = after(-1 - turn);
    const bool complete = block == rank();
    const Span chunk = partition_.chunk(index / stepsPerLoop());
    Step step;
    step.recv = {0, turn > 0 ? 1 : 0};
    step.send = {0, complete ? 0 : 1};
    step.inputOffset = layout_.offset(block) + chunk.offset;
    step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = Source::kInput;
    step.ownPosition = step.recv.count;
    step.to = complete ? Sink::kOutput : Sink::kNone;
    step.last = complete;
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const std::size_t others = stepsPerLoop() - 1;
    return {.steps = size(),
            .slotsSent = partition_.loops() * others,
            .elemsSent = partition_.elems() * others,
            .elemsAdded = partition_.elems() * others,
            .hops = others};
  }

 private:
  RONDO_HD constexpr std::size_t stepsPerLoop() const { return static_cast<std::size_t>(ranks()); }

  Layout layout_;
  LoopPartition partition_;
};

}  // namespace rondo
