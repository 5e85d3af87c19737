// Logarithmic all-gather for any number of ranks: the logarithmic reduce-scatter run backwards.
// Each block descends a binomial tree from its owner (collectives/patterns/binomial_blocks.h); the
// farthest exchange comes first and carries one block, the nearest comes last and carries half of
// all blocks.
//
// Four ranks, block of rank 3 at places 3 2 1 0 of ranks 0 1 2 3:
//
//     d = 2:  3 --D--> 1
//     d = 1:  3 --D--> 2,  1 --D--> 0
//
// Per loop and rank: 2 ceil(log2 n) steps (1 if n = 1); ceil(log2 n) slots, n-1 rows sent.
// Hops: ceil(log2 n).
#pragma once

#include "collectives/patterns/binomial_blocks.h"
#include "collectives/schedule.h"

namespace rondo {

class AllGatherLogTree {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllGather,
      .name = "log_tree",
      .summary = "many blocks at once over distances ..., 4, 2, 1; log2(n) hops, any n",
      .minSlots = 1,
      .aggregatesBlocks = true,
  };

  RONDO_HD constexpr explicit AllGatherLogTree(const ScheduleArgs& args)
      : rank_(args.rank), ranks_(args.ranks), blocks_(args) {}

  RONDO_HD constexpr std::size_t size() const { return blocks_.loops() * stepsPerLoop(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const std::size_t loop = index / stepsPerLoop();
    const int turn = static_cast<int>(index % stepsPerLoop());
    if (turn == 0) return start(loop);
    const int phase = blocks_.phases() - 1 - turn / 2;
    return turn % 2 == 0 ? passOn(loop, phase) : collect(loop, phase);
  }

  RONDO_HD constexpr int recvPeers() const { return blocks_.phases(); }

  RONDO_HD constexpr int recvPeer(int entry) const {
    return ringRank(rank_, BinomialBlocks::distance(entry), ranks_);
  }

  RONDO_HD constexpr int sendPeers() const { return blocks_.phases(); }

  RONDO_HD constexpr int sendPeer(int entry) const {
    return ringRank(rank_, -BinomialBlocks::distance(entry), ranks_);
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto phases = static_cast<std::size_t>(blocks_.phases());
    return {.steps = size(),
            .slotsSent = blocks_.loops() * phases,
            .elemsSent = blocks_.elems() * static_cast<std::size_t>(ranks_ - 1),
            .hops = phases};
  }

 private:
  RONDO_HD constexpr std::size_t stepsPerLoop() const {
    return ranks_ == 1 ? 1 : static_cast<std::size_t>(2 * blocks_.phases());
  }

  /// Stores the own block and sends it over the longest distance.
  RONDO_HD constexpr Step start(std::size_t loop) const {
    const int farthest = blocks_.phases() - 1;
    Step step = blocks_.onRows(loop, 0, 0, 1);
    step.inputOffset = blocks_.ownBlockOffset(loop);
    step.own = Source::kInput;
    step.to = Sink::kOutput;
    step.send = {farthest < 0 ? 0 : farthest, farthest < 0 ? 0 : 1};
    return step;
  }

  RONDO_HD constexpr Step passOn(std::size_t loop, int phase) const {
    Step step = blocks_.onRows(loop, phase, 0, blocks_.rows(phase));
    step.own = Source::kOutput;
    step.send = {phase, 1};
    return step;
  }

  RONDO_HD constexpr Step collect(std::size_t loop, int phase) const {
    Step step = blocks_.onRows(loop, phase, BinomialBlocks::distance(phase), blocks_.rows(phase));
    step.recv = {phase, 1};
    step.to = Sink::kOutput;
    return step;
  }

  int rank_;
  int ranks_;
  BinomialBlocks blocks_;
};

}  // namespace rondo
