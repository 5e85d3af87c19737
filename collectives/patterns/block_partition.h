// The blocks of a buffer cut into chunks: chunk i of every block belongs to loop i. Blocks of
// different size have chunks in different numbers of loops.
#pragma once

#include <cstddef>

#include "collectives/schedule.h"

namespace rondo {

class BlockPartition {
 public:
  /// @param layout of the blocks of `args`
  RONDO_HD constexpr BlockPartition(const ScheduleArgs& args, const Layout& layout)
      : layout_(layout),
        share_(args.share),
        chunkElems_(args.chunkElems),
        grain_(args.grain),
        ranks_(args.ranks) {}

  /// Chunk `loop` of the block of `owner`, from where that block begins; empty behind its end.
  RONDO_HD constexpr Span chunk(int owner, std::size_t loop) const {
    const LoopPartition block = partitionOf(owner);
    return loop < block.loops() ? block.chunk(loop) : Span{};
  }

  /// Where the block of `owner` begins in the buffer that holds all of them.
  RONDO_HD constexpr std::size_t offset(int owner) const { return layout_.offset(owner); }

  /// Loops until all blocks are done.
  RONDO_HD constexpr std::size_t loops() const {
    if (layout_.isUniform()) return partitionOf(0).loops();
    std::size_t most = 0;
    for (int owner = 0; owner < ranks_; ++owner)
      most = maxOf(most, partitionOf(owner).loops());
    return most;
  }

  /// Slots and elements of the block of `owner` on their way to one rank.
  constexpr Cost costOf(int owner) const {
    const LoopPartition block = partitionOf(owner);
    return {.slotsSent = block.loops(), .elemsSent = block.elems()};
  }

  /// The same of the blocks of all ranks but `self`, each to its owner.
  constexpr Cost costOfAllBut(int self) const {
    Cost sum;
    for (int owner = 0; owner < ranks_; ++owner) {
      if (owner == self) continue;
      const Cost one = costOf(owner);
      sum.slotsSent += one.slotsSent;
      sum.elemsSent += one.elemsSent;
    }
    return sum;
  }

 private:
  RONDO_HD constexpr LoopPartition partitionOf(int owner) const {
    return {layout_.part(owner, share_), 1, chunkElems_, grain_};
  }

  Layout layout_;
  Span share_;
  std::size_t chunkElems_;
  std::size_t grain_;
  int ranks_;
};

}  // namespace rondo
