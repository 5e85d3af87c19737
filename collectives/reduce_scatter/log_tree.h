// Logarithmic reduce-scatter for any number of ranks: partial sums of every block rise a binomial
// tree to its owner (collectives/patterns/binomial_blocks.h). Near exchanges come first and carry
// half of all blocks at once, the farthest one carries a single block: log2(n) hops, the least
// data, and little of it over long distances.
//
// Four ranks, block of rank 3 at places 3 2 1 0 of ranks 0 1 2 3:
//
//     d = 1:  0 --A--> 1,  2 --C--> 3          (1 holds BA, 3 holds DC)
//     d = 2:  1 --BA--> 3                      (3 holds DCBA, complete)
//
// Per phase a rank sends the rows at odd multiples of d to rank + d and adds what comes from rank -
// d to the rows at even multiples. Partial sums wait in scratch, (n/2 + 1) rows of one loop's
// columns. If n is odd, place n-1 takes no partner in any earlier phase than its own: its row is
// copied to scratch first.
//
// Per loop and rank: 2 ceil(log2 n) steps (+1 if n is odd); ceil(log2 n) slots, n-1 rows sent.
// Hops: ceil(log2 n).
// Order: owner, owner-1, owner-2, ..., added in pairs, then pairs of pairs, as in the binomial
// tree; rounded at each hop.
#pragma once

#include "collectives/patterns/binomial_blocks.h"
#include "collectives/schedule.h"

namespace rondo {

class ReduceScatterLogTree {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kReduceScatter,
      .name = "log_tree",
      .summary = "sums of many blocks at once over distances 1, 2, 4, ...; log2(n) hops, any n",
      .order = FoldOrder::kHopRounded,
      .minSlots = 1,
      .aggregatesBlocks = true,
  };

  RONDO_HD constexpr explicit ReduceScatterLogTree(const ScheduleArgs& args)
      : rank_(args.rank), ranks_(args.ranks), blocks_(args) {}

  RONDO_HD constexpr std::size_t size() const { return blocks_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const std::size_t loop = index / stepsPerLoop();
    const int turn = static_cast<int>(index % stepsPerLoop()) - preparing();
    if (ranks_ == 1) return wholeCopy(loop);
    if (turn < 0) return keepFarthest(loop);
    return turn % 2 == 0 ? passOn(loop, turn / 2) : collect(loop, turn / 2);
  }

  RONDO_HD constexpr int recvPeers() const { return blocks_.phases(); }

  RONDO_HD constexpr int recvPeer(int entry) const {
    return ringRank(rank_, -BinomialBlocks::distance(entry), ranks_);
  }

  RONDO_HD constexpr int sendPeers() const { return blocks_.phases(); }

  RONDO_HD constexpr int sendPeer(int entry) const {
    return ringRank(rank_, BinomialBlocks::distance(entry), ranks_);
  }

  RONDO_HD constexpr std::size_t scratchElems() const {
    return ranks_ > 2 ? blocks_.scratchElems() : 0;
  }

  constexpr Cost cost() const {
    const auto phases = static_cast<std::size_t>(blocks_.phases());
    return {.steps = size(),
            .slotsSent = blocks_.loops() * phases,
            .elemsSent = blocks_.elems() * static_cast<std::size_t>(ranks_ - 1),
            .elemsAdded = blocks_.elems() * static_cast<std::size_t>(ranks_ - 1),
            .hops = phases};
  }

 private:
  /// 1 if each loop starts with keepFarthest().
  RONDO_HD constexpr int preparing() const { return ranks_ > 1 && ranks_ % 2 != 0 ? 1 : 0; }

  RONDO_HD constexpr std::size_t stepsPerLoop() const {
    return ranks_ == 1 ? 1 : static_cast<std::size_t>(preparing() + 2 * blocks_.phases());
  }

  /// One rank: its block is complete as it is.
  RONDO_HD constexpr Step wholeCopy(std::size_t loop) const {
    Step step = blocks_.onRows(loop, 0, 0, 1);
    step.own = Source::kInput;
    step.to = Sink::kOutput;
    step.last = true;
    return step;
  }

  RONDO_HD constexpr Step keepFarthest(std::size_t loop) const {
    Step step = blocks_.onRows(loop, 0, ranks_ - 1, 1);
    step.own = Source::kInput;
    step.to = Sink::kScratch;
    return step;
  }

  RONDO_HD constexpr Step passOn(std::size_t loop, int phase) const {
    Step step = blocks_.onRows(loop, phase, BinomialBlocks::distance(phase), blocks_.rows(phase));
    step.own = partial(phase);
    step.send = {phase, 1};
    return step;
  }

  RONDO_HD constexpr Step collect(std::size_t loop, int phase) const {
    Step step = blocks_.onRows(loop, phase, 0, blocks_.rows(phase));
    step.own = partial(phase);
    step.recv = {phase, 1};
    step.last = phase + 1 == blocks_.phases();
    step.to = step.last ? Sink::kOutput : Sink::kScratch;
    if (step.last) step.outputOffset = blocks_.ownBlockOffset(loop);
    return step;
  }

  /// Where the own partial sums are before `phase`.
  RONDO_HD static constexpr Source partial(int phase) {
    return phase == 0 ? Source::kInput : Source::kScratch;
  }

  int rank_;
  int ranks_;
  BinomialBlocks blocks_;
};

}  // namespace rondo
