// The binomial trees that the logarithmic reduce-scatter and all-gather share: one tree per block,
// all of them turned copies of each other, so that in every phase all ranks exchange the same
// number of blocks with partners at the same distance.
//
// A block of owner b stands at rank r at place v = (b - r) mod n; place 0 is its owner. In the
// phase of distance d (a power of two below n) the block crosses between the places v and v + d,
// for every v that is a multiple of 2d with v + d < n. Seen from one rank, that is one block in 2d:
// a set of equally spaced rows. Phases, n = 6 (places joined in each):
//
//     d = 4:  0-4          d = 2:  0-2          d = 1:  0-1  2-3  4-5
//
// Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
// arXiv:2506.20252 (2025): trees whose far exchanges carry the least data, aggregated as far as a
// bounded buffer allows.
#pragma once

#include <cstddef>

#include "collectives/partition.h"
#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"
#include "kernels/portability.h"

namespace rondo {

class BinomialBlocks {
 public:
  /// @param args its chunkElems must be at least ranks/2: one slot holds all rows of a phase
  RONDO_HD constexpr explicit BinomialBlocks(const ScheduleArgs& args)
      : rank_(args.rank),
        ranks_(args.ranks),
        layout_(args.layout),
        columns_(args.share, 1, columnsPerLoop(args), 1) {}

  /// Phases: distances 1, 2, 4, ... below n.
  RONDO_HD constexpr int phases() const {
    int phases = 0;
    while (distance(phases) < ranks_)
      ++phases;
    return phases;
  }

  RONDO_HD static constexpr int distance(int phase) { return 1 << phase; }

  /// Loops over the columns of the blocks.
  RONDO_HD constexpr std::size_t loops() const { return columns_.loops(); }

  /// Elements of this channel's part of each block.
  RONDO_HD constexpr std::size_t elems() const { return columns_.elems(); }

  /// Rows exchanged in `phase`: the multiples v of 2d with v + d < n.
  RONDO_HD constexpr int rows(int phase) const {
    const int d = distance(phase);
    return (ranks_ + d - 1) / (2 * d);
  }

  /// Offsets, length and rows of a step on the blocks at places firstPlace, firstPlace + 2d, ...
  RONDO_HD constexpr Step onRows(std::size_t loop, int phase, int firstPlace, int rowCount) const {
    const auto apart = static_cast<std::size_t>(distance(phase));  // half the spacing of the places
    const Span columns = columns_.chunk(loop);
    const std::size_t block = layout_.offset(ringRank(rank_, firstPlace, ranks_));
    Step step;
    step.inputOffset = step.outputOffset = block + columns.offset;
    step.scratchOffset = static_cast<std::size_t>(firstPlace / 2) * scratchRowElems();
    step.elems = columns.elems;
    step.rows = {.count = static_cast<std::size_t>(rowCount),
                 .userStride = layout_.offset(1) * 2 * apart,
                 .userWrap = layout_.offset(ranks_),
                 .scratchStride = scratchRowElems() * apart};
    return step;
  }

  /// The offset of the own block's columns in a buffer that holds only that block.
  RONDO_HD constexpr std::size_t ownBlockOffset(std::size_t loop) const {
    return columns_.chunk(loop).offset;
  }

  /// Scratch holds the even places (odd ones are passed on straight from the input).
  RONDO_HD constexpr std::size_t scratchElems() const {
    return static_cast<std::size_t>(ranks_ / 2 + 1) * scratchRowElems();
  }

 private:
  RONDO_HD static constexpr std::size_t columnsPerLoop(const ScheduleArgs& args) {
    const auto rows = static_cast<std::size_t>(args.ranks / 2);
    return rows == 0 ? args.chunkElems : maxOf(args.chunkElems / rows, 1);
  }

  RONDO_HD constexpr std::size_t scratchRowElems() const {
    return loops() == 0 ? 0 : columns_.chunk(0).elems;
  }

  int rank_;
  int ranks_;
  Layout layout_;
  LoopPartition columns_;
};

}  // namespace rondo
