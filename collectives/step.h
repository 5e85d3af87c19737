// A step: the one unit that schedules emit and that executors run, the verifier proves, the planner
// prices and `rondo explain` draws.
//
// A step is atomic. It runs when every connection it receives from has a full slot and every
// connection it sends to has a free one (kernels/step_ready.h). It then folds its sources in order,
// stores the result to its sink and into the slots it sends, and releases all slots together:
//
//     own (input | output | scratch) --+
//     recv slot of peer first ---------+--> fold in order --> sink (output | scratch)
//     recv slot of peer first + 1 -----+         |
//     ...                                        +--> send slot of each peer in `send`
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portability.h"

namespace rondo {

/// Consecutive entries of a schedule's receive or send table.
struct PeerRange {
  int first = 0;
  int count = 0;

  friend constexpr bool operator==(const PeerRange&, const PeerRange&) = default;
};

/// Where the rank's own contribution to a step is read from.
enum class Source : std::uint8_t { kNone, kInput, kOutput, kScratch };

/// Where the result is stored on this rank, besides the slots it is sent in.
enum class Sink : std::uint8_t { kNone, kOutput, kScratch };

/// How elements lie in a slot: as themselves, or as partial sums in the accumulator's type.
enum class Wire : std::uint8_t { kNative, kAccumulator };

/// A step may handle several equally long pieces ("rows") at once: row j lies `j * userStride`
/// after the offset in input and output, wrapping round at `userWrap`, and `j * scratchStride`
/// after it in scratch. In slots rows are packed without gaps. One row is the ordinary case.
struct Rows {
  std::size_t count = 1;
  std::size_t userStride = 0;     ///< elements
  std::size_t userWrap = 0;       ///< elements; offsets at or beyond it start again at 0; 0: never
  std::size_t scratchStride = 0;  ///< elements

  friend constexpr bool operator==(const Rows&, const Rows&) = default;
};

/// Offsets are in elements from the start of the caller's input, output and of the schedule's
/// scratch.
struct Step {
  PeerRange recv;  ///< into the receive table
  PeerRange send;  ///< into the send table
  std::size_t inputOffset = 0;
  std::size_t outputOffset = 0;
  std::size_t scratchOffset = 0;
  std::size_t elems = 0;  ///< per row; 0 is legal: the slots are passed on empty
  Rows rows;
  int ownPosition = 0;  ///< how many of the received sources are folded before the own one
  Source own = Source::kNone;
  Sink to = Sink::kNone;
  Wire recvWire = Wire::kNative;
  Wire sendWire = Wire::kNative;
  bool last = false;  ///< the fold is complete: the average's division is applied here

  /// Values folded by this step, own one included.
  RONDO_HD constexpr int sources() const { return recv.count + (own == Source::kNone ? 0 : 1); }

  /// Elements in each slot that this step receives or sends.
  RONDO_HD constexpr std::size_t slotElems() const { return elems * rows.count; }

  /// Offset of row `row` in input or output, given the step's offset there.
  RONDO_HD constexpr std::size_t userRow(std::size_t offset, std::size_t row) const {
    const std::size_t at = offset + row * rows.userStride;
    return rows.userWrap != 0 && at >= rows.userWrap ? at - rows.userWrap : at;
  }

  /// Offset of row `row` in scratch.
  RONDO_HD constexpr std::size_t scratchRow(std::size_t row) const {
    return scratchOffset + row * rows.scratchStride;
  }

  friend constexpr bool operator==(const Step&, const Step&) = default;
};

}  // namespace rondo
