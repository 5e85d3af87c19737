// How large a step's rows are in a slot, and how large slots of lines are so that they fit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/partition.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/protocol.h"
#include "kernels/portability.h"

namespace rondo::device {

/// Bytes of data in a line (lines.h), which takes a pack.
inline constexpr std::size_t kLineData = 8;

/// Bytes of data in a wide line (wide_lines.h), and packs that it takes.
inline constexpr std::size_t kWideLineData = 120;
inline constexpr unsigned kWideLinePacks = 8;
inline constexpr std::size_t kWideLineBytes = kWideLinePacks * sizeof(Pack);

/// Most rows of a step in lines, each counted as often as its elements are wider there than in
/// their native form.
inline constexpr std::size_t kMaxLineRows = 128;

/// Bytes from one row of a step to the next in a slot's memory. In lines a row takes whole packs,
/// in wide ones whole lines; accumulators as many times what native elements take as they are
/// wider.
RONDO_HD constexpr std::size_t rowStride(Protocol protocol,
                                         std::size_t elems,
                                         std::size_t elemBytes,
                                         std::size_t wireBytes) {
  const std::size_t widening = wireBytes / elemBytes;
  const std::size_t natives = elems * elemBytes;
  switch (protocol) {
    case Protocol::kStaged:
      break;
    case Protocol::kLines:
      return ceilDiv(natives, sizeof(Pack)) * widening * sizeof(Pack) / kLineData * sizeof(Pack);
    case Protocol::kWideLines:
      return ceilDiv(natives, kWideLineData) * widening * kWideLineBytes;
  }
  return elems * wireBytes;
}

/// Lines of a slot, a pack each: they hold `slotBytes` bytes of data in either kind of lines, with
/// a line that is not full at the end of each row.
RONDO_HD constexpr std::size_t linesPerSlot(std::size_t slotBytes) {
  const std::size_t narrow = (slotBytes + kMaxLineRows * sizeof(Pack)) / kLineData;
  const std::size_t wide = (slotBytes / kWideLineData + kMaxLineRows) * kWideLinePacks;
  const std::size_t most = narrow > wide ? narrow : wide;
  return ceilDiv(most, kWideLinePacks) * kWideLinePacks;
}

}  // namespace rondo::device
