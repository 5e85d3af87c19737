// How element counts are cut up, and the words for the pieces. Used by every schedule and by the
// planner; pure arithmetic on 64-bit counts.
//
//   rank     one member of a communicator, 0..ranks-1
//   peer     another rank that a schedule sends to or receives from
//   channel  one independent lane: its own share of the data and its own connections
//   share    the part of the data that one channel moves
//   loop     one round of a schedule over its share: `parts` chunks at a time
//   chunk    what one step handles at most
//   slot     the place in a connection that carries one chunk from one rank to the next
//   step     one move of one rank: wait, combine, store, post (collectives/step.h)
//   grain    boundaries inside a share are multiples of this many elements
#pragma once

#include <cstddef>

#include "kernels/portability.h"

namespace rondo {

/// A run of elements: [offset, offset + elems).
struct Span {
  std::size_t offset = 0;  ///< elements
  std::size_t elems = 0;

  friend constexpr bool operator==(const Span&, const Span&) = default;
};

RONDO_HD constexpr std::size_t minOf(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

RONDO_HD constexpr std::size_t maxOf(std::size_t a, std::size_t b) {
  return a < b ? b : a;
}

/// ceil(a / b) without overflow; b > 0.
RONDO_HD constexpr std::size_t ceilDiv(std::size_t a, std::size_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Part `index` of `parts` when `total` elements are shared out evenly, in order. Boundaries are
/// multiples of `grain`; sizes differ by at most one grain, larger ones first; parts may be empty.
/// Example: evenShare(10, 4, i, 1) = {0,3} {3,3} {6,2} {8,2}.
RONDO_HD constexpr Span evenShare(std::size_t total,
                                  std::size_t parts,
                                  std::size_t index,
                                  std::size_t grain) {
  const std::size_t grains = ceilDiv(total, grain);
  const std::size_t base = grains / parts;
  const std::size_t extra = grains % parts;
  const std::size_t begin = minOf((index * base + minOf(index, extra)) * grain, total);
  const std::size_t length = (base + (index < extra ? 1 : 0)) * grain;
  return {begin, minOf(length, total - begin)};
}

/// A share walked in loops of `parts` chunks of at most `chunkElems` each. Every loop but the last
/// is full; the last one is shared out evenly over its parts, so all parts finish together.
class LoopPartition {
 public:
  constexpr LoopPartition() = default;

  /// @param chunkElems > 0, a multiple of `grain`
  RONDO_HD constexpr LoopPartition(Span share,
                                   std::size_t parts,
                                   std::size_t chunkElems,
                                   std::size_t grain)
      : share_(share), parts_(parts), chunkElems_(chunkElems), grain_(grain) {}

  /// Elements of the whole share.
  RONDO_HD constexpr std::size_t elems() const { return share_.elems; }

  /// 0 when there is nothing to move.
  RONDO_HD constexpr std::size_t loops() const {
    return ceilDiv(share_.elems, parts_ * chunkElems_);
  }

  /// Chunk `part` of loop `loop`, where it lies in the buffer that the share is of.
  RONDO_HD constexpr Span chunk(std::size_t loop, std::size_t part = 0) const {
    const std::size_t loopElems = parts_ * chunkElems_;
    const std::size_t begin = loop * loopElems;
    const Span inLoop = evenShare(minOf(loopElems, share_.elems - begin), parts_, part, grain_);
    return {share_.offset + begin + inLoop.offset, inLoop.elems};
  }

  /// Elements of `part` in all loops together.
  RONDO_HD constexpr std::size_t partElems(std::size_t part) const {
    if (share_.elems == 0) return 0;
    const std::size_t lastLoop = loops() - 1;
    return lastLoop * chunkElems_ + chunk(lastLoop, part).elems;
  }

 private:
  Span share_;
  std::size_t parts_ = 1;
  std::size_t chunkElems_ = 1;
  std::size_t grain_ = 1;
};

}  // namespace rondo
