// Wide lines: slots whose data carry one mark for every 128 bytes. Eight neighbouring threads of a
// warp write a line in one instruction, and read it in one, 16 bytes each:
//
//     packs 0 to 6: data        pack 7, half 0: data        pack 7, half 1: mark
//
// That needs a machine which keeps the 128 bytes of such an instruction together. Whether GPUs do
// nobody promises and none has shown here, so wide lines are off unless asked for.
//
// The memory is that of lines.h, and so are the marks, in the upper half of 64 bits. What lines
// left there looks like no new mark: at every place where a mark may be, they had one of their own,
// that of an older filling. The reverse does not hold, since data of a wide line lie where lines
// have marks, and may be anything. So a slot that held wide lines last is rewritten before lines
// use it again, and handed over by its counter that time (End::wideSlots).
//
// The idea is that of NCCL's LL128 protocol (Z. Hu et al., "Demystifying NCCL", 2025, section III).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/waiting.h"

namespace rondo::device {

RONDO_HD constexpr std::uint64_t wideMark(std::uint32_t mark) {
  return std::uint64_t{mark} << 32;
}

/// Whether the calling thread's pack of a line is the one with the mark.
RONDO_DEVICE bool hasMarkOfLine() {
  return threadIndex() % kWideLinePacks == kWideLinePacks - 1;
}

/// All threads of the warp: each writes its pack of a line.
/// @param there false for all threads that would have a line and have none
RONDO_DEVICE void placeWide(bool there, Pack* to, Pack data, std::uint32_t mark) {
  if (hasMarkOfLine()) data.half[1] = wideMark(mark);
  placeLine128(there, to, data);
}

/// All threads of the warp: waits until `kCount` consecutive lines of each group of 8 carry `mark`.
/// Only one thread of a line sees its mark, so all of the warp go on together or not at all.
/// @param data what the thread's packs of the lines hold; undefined if the wait was given up
/// @param there false for all threads that would have a line and have none
/// @param from the thread's pack of the first line
template <unsigned kCount>
RONDO_DEVICE void awaitWide(
    Pack (&data)[kCount], bool there, const Pack* from, std::uint32_t mark, Wait& wait) {
  const bool looks = there && hasMarkOfLine();
  for (;;) {
    bool missing = false;
    for (unsigned i = 0; i < kCount; ++i) {
      data[i] = peekLine128(there, from + i * kWideLinePacks);
      missing = missing || (looks && data[i].half[1] != wideMark(mark));
    }
    if (!anyInWarp(missing) || !wait.goOnAsWarp()) return;
  }
}

}  // namespace rondo::device
