// Lines: slots whose data carry their own mark, so that a receiver needs no counter and no fence to
// know that they are there. A line is 16 bytes for 8 bytes of data; each half is written whole:
//
//     half 0   bits 0..31 data   bits 32..63 mark        half 1   the next data, the same mark
//
// The mark belongs to the slot's filling and differs from what any earlier filling left there:
// marks repeat after 2^32 - 1 fillings, and every 2^31 fillings each slot is written to its end, so
// no line keeps an older one. Zero, what new memory holds, is no mark.
//
// The idea is that of NCCL's LL protocol (Z. Hu et al., "Demystifying NCCL", 2025, section III).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/waiting.h"

namespace rondo::device {

/// The mark of filling number `filling` of a connection, counted from 0.
RONDO_HD constexpr std::uint32_t lineMark(std::uint64_t filling) {
  constexpr std::uint64_t kMarks = 0xffffffffu;
  return static_cast<std::uint32_t>(filling % kMarks) + 1;
}

/// Whether filling number `filling` must write its slot to the end.
RONDO_HD constexpr bool rewritesSlot(std::uint64_t filling, std::uint32_t slotCount) {
  constexpr std::uint64_t kPeriod = std::uint64_t{1} << 31;
  return filling >= kPeriod && filling % kPeriod < slotCount;
}

RONDO_DEVICE void placeLine(Pack& line, std::uint64_t data, std::uint32_t mark) {
  const std::uint64_t high = std::uint64_t{mark} << 32;
  placePack(line, {{(data & 0xffffffffu) | high, (data >> 32) | high}});
}

/// Waits until each of `kCount` lines carries `mark`: all of them are read before any is waited
/// for, so that the reads overlap.
/// @param data what the lines hold; undefined if the wait was given up
template <unsigned kCount>
RONDO_DEVICE void awaitLines(std::uint64_t (&data)[kCount],
                             const Pack* lines,
                             std::uint32_t mark,
                             Wait& wait) {
  for (;;) {
    bool there = true;
    for (unsigned i = 0; i < kCount; ++i) {
      const Pack seen = peekPack(lines[i]);
      there = there && seen.half[0] >> 32 == mark && seen.half[1] >> 32 == mark;
      data[i] = (seen.half[0] & 0xffffffffu) | seen.half[1] << 32;
    }
    if (there || !wait.goOn()) return;
  }
}

}  // namespace rondo::device
