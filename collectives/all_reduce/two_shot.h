// Two-shot all-reduce. Each loop cuts the data into one part per rank. First every rank sends each
// owner its part; the owner adds all contributions up in rank order and sends the result to all in
// the same pass. Two hops and 2 (n-1)/n of the data: ring bandwidth at tree latency, where every
// pair of ranks is directly connected.
//
// Four ranks, part of rank 1 (A B C D = contributions):
//
//     scatter: 0 --A--> 1,  2 --C--> 1,  3 --D--> 1
//     reduce:  1: A B C D, complete --> 0, 2, 3
//     gather:  0, 2, 3 store it
//
// Order of a rank: scatter(0); then for each loop i: reduce(i), scatter(i+1), gather(i). While a
// rank gathers, its peers already find the next loop's parts; two slots suffice because each
// connection carries scatter and result in turn.
//
// Per loop and rank: 2n-1 steps, 2(n-1) slots sent. Hops: 2.
// Order: ranks 0, 1, ..., n-1; rounded once.
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004
// (reduce-scatter then all-gather), with direct exchanges in both halves.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceTwoShot : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "two_shot",
      .summary = "parts go straight to their owners, sums straight to all; two hops; reproducible",
      .order = FoldOrder::kRankOrder,
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit AllReduceTwoShot(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        partition_(args.share, static_cast<std::size_t>(args.ranks), args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    if (index < others()) return scatter(0, index);
    const std::size_t afterFirst = index - others();
    const std::size_t loop = afterFirst / stepsPerLoop();
    const std::size_t turn = afterFirst % stepsPerLoop();
    if (turn == 0) return reduce(loop);
    const bool lastLoop = loop + 1 == partition_.loops();
    if (!lastLoop && turn <= others()) return scatter(loop + 1, turn - 1);
    return gather(loop, lastLoop ? turn - 1 : turn - 1 - others());
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  /// Sends every part but the own one once, and the own one to everybody else.
  constexpr Cost cost() const {
    const std::size_t ownPart = partition_.partElems(static_cast<std::size_t>(rank()));
    return {.steps = size(),
            .slotsSent = partition_.loops() * 2 * others(),
            .elemsSent = partition_.elems() - ownPart + ownPart * others(),
            .elemsAdded = ownPart * others(),
            .hops = others() > 0 ? 2U : 0U};
  }

 private:
  RONDO_HD constexpr std::size_t stepsPerLoop() const { return 2 * others() + 1; }

  /// A step on the part of `owner` in `loop`.
  RONDO_HD constexpr Step onPart(std::size_t loop, int owner) const {
    const Span chunk = partition_.chunk(loop, static_cast<std::size_t>(owner));
    Step step;
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    return step;
  }

  RONDO_HD constexpr Step scatter(std::size_t loop, std::size_t turn) const {
    const int owner = peerAtTurn(turn);
    Step step = onPart(loop, owner);
    step.own = Source::kInput;
    step.send = only(owner);
    return step;
  }

  RONDO_HD constexpr Step reduce(std::size_t loop) const {
    Step step = onPart(loop, rank());
    step.recv = step.send = everyone();
    step.own = Source::kInput;
    step.ownPosition = rank();
    step.to = Sink::kOutput;
    step.last = true;
    return step;
  }

  RONDO_HD constexpr Step gather(std::size_t loop, std::size_t turn) const {
    const int owner = peerAtTurn(turn);
    Step step = onPart(loop, owner);
    step.recv = only(owner);
    step.to = Sink::kOutput;
    return step;
  }

  LoopPartition partition_;
};

}  // namespace rondo
