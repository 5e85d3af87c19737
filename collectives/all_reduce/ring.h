// Ring all-reduce. Each loop cuts the data into one chunk per rank. A chunk starts at the rank
// after its owner, travels the ring collecting contributions, is complete when it reaches its owner
// and travels on as the result. All links are busy all the time and carry 2 (n-1)/n of the data,
// which no algorithm undercuts; the price is 2 (n-1) hops.
//
// Four ranks, chunk of rank 0 (A B C D = contributions of ranks 0..3):
//
//     1 --B--> 2 --BC--> 3 --BCD--> 0 (BCDA, complete) --> 1 --> 2 --> 3
//
// Per loop and rank: 2n-1 steps, 2(n-1) slots sent. Hops: 2(n-1).
// Order: owner+1, owner+2, ..., owner; rounded at each hop.
// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// J. Parallel Distrib. Comput. 69 (2009), section 3.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceRing : public RingPlace {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "ring",
      .summary = "chunks travel the ring twice; least data per link, 2(n-1) hops",
      .order = FoldOrder::kHopRounded,
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit AllReduceRing(const ScheduleArgs& args)
      : RingPlace(args.rank, args.ranks),
        partition_(args.share, static_cast<std::size_t>(args.ranks), args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const std::size_t loop = index / stepsPerLoop();
    const int turn = static_cast<int>(index % stepsPerLoop());
    const int complete = ranks() - 1;  // the turn at which the own chunk becomes complete
    const Span chunk = partition_.chunk(loop, static_cast<std::size_t>(after(-1 - turn)));
    Step step;
    step.recv = {0, turn > 0 ? 1 : 0};
    step.send = {0, turn < 2 * complete ? 1 : 0};
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = turn <= complete ? Source::kInput : Source::kNone;
    step.ownPosition = step.recv.count;
    step.to = turn >= complete ? Sink::kOutput : Sink::kNone;
    step.last = turn == complete;
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  /// Every chunk is sent twice, but the own one only as a result and the next rank's only as a sum;
  /// every one is added to but the one that starts here.
  constexpr Cost cost() const {
    const auto n = static_cast<std::size_t>(ranks());
    const auto own = static_cast<std::size_t>(rank());
    const auto next = static_cast<std::size_t>(after(1));
    const auto first = static_cast<std::size_t>(after(-1));
    const std::size_t share = partition_.elems();
    return {.steps = size(),
            .slotsSent = partition_.loops() * 2 * (n - 1),
            .elemsSent = 2 * share - partition_.partElems(own) - partition_.partElems(next),
            .elemsAdded = share - partition_.partElems(first),
            .hops = 2 * (n - 1)};
  }

 private:
  RONDO_HD constexpr std::size_t stepsPerLoop() const {
    return static_cast<std::size_t>(2 * ranks() - 1);
  }

  LoopPartition partition_;
};

}  // namespace rondo
