// Where the elements of one operand of a step lie, and how one thread moves 16 bytes' worth of them
// at a time between there and registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/lines.h"
#include "kernels/cuda/waiting.h"

namespace rondo::device {

/// How the elements at a place are stored, as rondo::host::Form.
enum class Form : std::uint8_t {
  kNative,
  kAccumulator,
  kScaled  ///< source only: native elements, each multiplied when read
};

struct Place {
  std::byte* data = nullptr;  ///< of a slot in lines: the first line
  std::int32_t peer = -1;     ///< whose slot it is; -1: this rank's own memory
  std::uint32_t mark = 0;     ///< of a slot in lines; 0: plain memory
  Form form = Form::kNative;

  /// The same place, `bytes` bytes of payload further on.
  RONDO_DEVICE Place at(std::size_t bytes) const {
    Place moved = *this;
    moved.data += mark != 0 ? bytes / kLineData * sizeof(Pack) : bytes;
    return moved;
  }
};

/// Elements of type E that move together; their bytes are a multiple of 16.
template <class E, unsigned kCount>
struct Group {
  static_assert(sizeof(E) * kCount % sizeof(Pack) == 0);
  static constexpr unsigned kPacks = sizeof(E) * kCount / sizeof(Pack);

  union {
    Pack packs[kPacks];
    E elems[kCount];
  };

  RONDO_HD Group() : packs() {}
};

namespace detail {

RONDO_DEVICE_INLINE bool onPackBoundary(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack) == 0;
}

template <class E, unsigned kCount>
RONDO_DEVICE void loadMemory(Group<E, kCount>& to, const std::byte* from, unsigned count) {
  if (count == kCount && onPackBoundary(from)) {
    for (unsigned i = 0; i < to.kPacks; ++i)
      to.packs[i] = reinterpret_cast<const Pack*>(from)[i];
    return;
  }
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) to.elems[i] = reinterpret_cast<const E*>(from)[i];
  }
}

template <class E, unsigned kCount>
RONDO_DEVICE void storeMemory(std::byte* to, const Group<E, kCount>& from, unsigned count) {
  if (count == kCount && onPackBoundary(to)) {
    for (unsigned i = 0; i < from.kPacks; ++i)
      reinterpret_cast<Pack*>(to)[i] = from.packs[i];
    return;
  }
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) reinterpret_cast<E*>(to)[i] = from.elems[i];
  }
}

}  // namespace detail

/// Reads group number `group` of a place; elements from `count` on are undefined.
/// @tparam kLines whether slots are in lines
template <bool kLines, class E, unsigned kCount>
RONDO_DEVICE void loadGroup(
    Group<E, kCount>& to, const Place& place, std::size_t group, unsigned count, Wait& wait) {
  if constexpr (kLines) {
    if (place.mark != 0) {
      const Pack* line = reinterpret_cast<const Pack*>(place.data) + group * 2 * to.kPacks;
      wait.waitFor(place.peer, true);
      for (unsigned i = 0; i < to.kPacks; ++i) {
        for (unsigned half = 0; half < 2; ++half)
          to.packs[i].half[half] = awaitLine(line[2 * i + half], place.mark, wait);
      }
      return;
    }
  }
  detail::loadMemory(to, place.data + group * sizeof(to), count);
}

/// Writes the first `count` elements of a group; a slot in lines gets whole packs.
template <bool kLines, class E, unsigned kCount>
RONDO_DEVICE void storeGroup(const Place& place,
                             std::size_t group,
                             const Group<E, kCount>& from,
                             unsigned count) {
  if constexpr (kLines) {
    if (place.mark != 0) {
      Pack* line = reinterpret_cast<Pack*>(place.data) + group * 2 * from.kPacks;
      for (unsigned i = 0; i < from.kPacks; ++i) {
        for (unsigned half = 0; half < 2; ++half)
          placeLine(line[2 * i + half], from.packs[i].half[half], place.mark);
      }
      return;
    }
  }
  detail::storeMemory(place.data + group * sizeof(from), from, count);
}

}  // namespace rondo::device
