// Ring all-gather: the second half of the ring all-reduce. Every rank sends its block round the
// ring; each rank keeps a copy of what passes.
//
// Four ranks, block of rank 0:   0 --A--> 1 --A--> 2 --A--> 3
//
// Per loop and rank: n steps, n-1 slots sent. Hops: n-1. Source: as all_reduce/ring.h.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"

namespace rondo {

class AllGatherRing : public RingPlace {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllGather,
      .name = "ring",
      .summary = "blocks travel the ring; neighbours only, n-1 hops",
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit AllGatherRing(const ScheduleArgs& args)
      : RingPlace(args.rank, args.ranks),
        layout_(args.layout),
        partition_(args.share, 1, args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const int turn = static_cast<int>(index % stepsPerLoop());
    const Span chunk = partition_.chunk(index / stepsPerLoop());
    Step step;
    step.recv = {0, turn > 0 ? 1 : 0};
    step.send = {0, turn < ranks() - 1 ? 1 : 0};
    step.inputOffset = chunk.offset;
    step.outputOffset = layout_.offset(after(-turn)) + chunk.offset;
    step.elems = chunk.elems;
    step.own = turn == 0 ? Source::kInput : Source::kNone;
    step.to = Sink::kOutput;
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const std::size_t others = stepsPerLoop() - 1;
    return {.steps = size(),
            .slotsSent = partition_.loops() * others,
            .elemsSent = partition_.elems() * others,
            .hops = others};
  }

 private:
  RONDO_HD constexpr std::size_t stepsPerLoop() const { return static_cast<std::size_t>(ranks()); }

  Layout layout_;
  LoopPartition partition_;
};

}  // namespace rondo
