// Where the elements of one operand of a step lie, and how one thread moves its portion of them
// between there and registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/lines.h"
#include "kernels/cuda/portion.h"
#include "kernels/cuda/waiting.h"
#include "kernels/cuda/wide_lines.h"

namespace rondo::device {

/// How the elements at a place are stored, as rondo::host::Form.
enum class Form : std::uint8_t {
  kNative,
  kAccumulator,
  kScaled  ///< source only: native elements, each multiplied when read
};

struct Place {
  std::byte* data = nullptr;  ///< of a slot in lines, wide or not: the row's first line
  std::int32_t peer = -1;     ///< whose slot it is; -1: this rank's own memory
  std::uint32_t mark = 0;     ///< of a slot in lines; 0: plain memory
  Form form = Form::kNative;

  /// The same place, `bytes` bytes of memory further on.
  RONDO_DEVICE Place at(std::size_t bytes) const {
    Place moved = *this;
    moved.data += bytes;
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

/// What plain memory is read and written by, where it can be: a pack, but next to wide lines, whose
/// data are no multiple of it, half a pack.
template <Protocol kProtocol>
struct MemoryUnit {
  using Type = Pack;
};

template <>
struct MemoryUnit<Protocol::kWideLines> {
  using Type = std::uint64_t;
};

template <class Unit>
RONDO_DEVICE bool onBoundary(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Unit) == 0;
}

/// Calls `whole(u)` for each unit of a group that is to be moved at once, and `single(i)` for each
/// element of the others.
template <class Unit, class E, unsigned kCount, class Whole, class Single>
RONDO_DEVICE void forEachUnit(bool aligned,
                              unsigned count,
                              const Whole& whole,
                              const Single& single) {
  constexpr unsigned kPerUnit = sizeof(Unit) / sizeof(E);
  for (unsigned u = 0; u < kCount / kPerUnit; ++u) {
    if (aligned && count >= (u + 1) * kPerUnit) {
      whole(u);
      continue;
    }
    for (unsigned i = u * kPerUnit; i < (u + 1) * kPerUnit; ++i) {
      if (i < count) single(i);
    }
  }
}

template <class Unit, class E, unsigned kCount>
RONDO_DEVICE void loadMemory(Group<E, kCount>& to, const std::byte* from, unsigned count) {
  forEachUnit<Unit, E, kCount>(
      onBoundary<Unit>(from), count,
      [&](unsigned u) {
        reinterpret_cast<Unit*>(to.packs)[u] = reinterpret_cast<const Unit*>(from)[u];
      },
      [&](unsigned i) { to.elems[i] = reinterpret_cast<const E*>(from)[i]; });
}

template <class Unit, class E, unsigned kCount>
RONDO_DEVICE void storeMemory(std::byte* to, const Group<E, kCount>& from, unsigned count) {
  forEachUnit<Unit, E, kCount>(
      onBoundary<Unit>(to), count,
      [&](unsigned u) {
        reinterpret_cast<Unit*>(to)[u] = reinterpret_cast<const Unit*>(from.packs)[u];
      },
      [&](unsigned i) { reinterpret_cast<E*>(to)[i] = from.elems[i]; });
}

/// The pack of a portion that begins with element `at` of it.
template <class E>
RONDO_DEVICE unsigned packOf(unsigned at) {
  return at / static_cast<unsigned>(sizeof(Pack) / sizeof(E));
}

/// Packs that a portion takes of elements of type E.
template <class E, class P>
inline constexpr unsigned kPacksOf = P::kElems * sizeof(E) / sizeof(Pack);

/// The line of pack `pack` of a portion; the one behind it has the pack's other half.
template <class E, class P>
RONDO_DEVICE Pack* lineAt(const Place& place, const P& portion, unsigned pack) {
  return reinterpret_cast<Pack*>(place.data) + (portion.number * kPacksOf<E, P> + pack) * 2;
}

/// The calling thread's pack of the wide line that has pack `pack` of its portion. Where elements
/// are wider than in their native form, the packs of a portion are in lines that follow each other,
/// so that a thread's elements are the same in both forms.
template <class E, class P>
RONDO_DEVICE Pack* wideLineAt(const Place& place, const P& portion, unsigned pack) {
  const std::size_t line = portion.number / kWideLinePacks * kPacksOf<E, P> + pack;
  return reinterpret_cast<Pack*>(place.data) + line * kWideLinePacks +
         portion.number % kWideLinePacks;
}

}  // namespace detail

/// Reads elements `at` to `at + kCount - 1` of the thread's portion of a place; those that are not
/// there are undefined. With wide lines: all threads of the warp.
template <class E, unsigned kCount, Protocol kProtocol, std::size_t kElemBytes>
RONDO_DEVICE void loadGroup(Group<E, kCount>& to,
                            const Place& place,
                            const Portion<kProtocol, kElemBytes>& portion,
                            unsigned at,
                            Wait& wait) {
  if constexpr (kProtocol != Protocol::kStaged) {
    if (place.mark != 0) {
      const unsigned pack = detail::packOf<E>(at);
      wait.waitFor(place.peer, true);
      if constexpr (kProtocol == Protocol::kWideLines) {
        awaitWide(to.packs, portion.inLine, detail::wideLineAt<E>(place, portion, pack), place.mark,
                  wait);
      } else {
        std::uint64_t data[2 * to.kPacks];
        awaitLines(data, detail::lineAt<E>(place, portion, pack), place.mark, wait);
        for (unsigned i = 0; i < to.kPacks; ++i)
          to.packs[i] = {{data[2 * i], data[2 * i + 1]}};
      }
      return;
    }
  }
  using Unit = typename detail::MemoryUnit<kProtocol>::Type;
  const unsigned count = portion.count > at ? portion.count - at : 0;
  detail::loadMemory<Unit>(to, place.data + (portion.first + at) * sizeof(E), count);
}

/// Writes elements `at` to `at + kCount - 1` of the thread's portion to a place; a slot in lines
/// gets whole packs. With wide lines: all threads of the warp.
template <class E, unsigned kCount, Protocol kProtocol, std::size_t kElemBytes>
RONDO_DEVICE void storeGroup(const Place& place,
                             const Portion<kProtocol, kElemBytes>& portion,
                             unsigned at,
                             const Group<E, kCount>& from) {
  if constexpr (kProtocol != Protocol::kStaged) {
    if (place.mark != 0) {
      const unsigned pack = detail::packOf<E>(at);
      for (unsigned i = 0; i < from.kPacks; ++i) {
        if constexpr (kProtocol == Protocol::kWideLines) {
          placeWide(portion.inLine, detail::wideLineAt<E>(place, portion, pack + i), from.packs[i],
                    place.mark);
        } else {
          Pack* line = detail::lineAt<E>(place, portion, pack + i);
          for (unsigned half = 0; half < 2; ++half)
            placeLine(line[half], from.packs[i].half[half], place.mark);
        }
      }
      return;
    }
  }
  using Unit = typename detail::MemoryUnit<kProtocol>::Type;
  const unsigned count = portion.count > at ? portion.count - at : 0;
  detail::storeMemory<Unit>(place.data + (portion.first + at) * sizeof(E), from, count);
}

}  // namespace rondo::device
