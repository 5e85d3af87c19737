// How the threads of a block share the elements of a row: each has 16 bytes of them at a time, its
// portion, and then the next. Where a portion lies in a slot of lines follows from its number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/partition.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace rondo::device {

/// What one thread has of a row at a time.
/// @tparam kElemBytes of an element in its native form
template <Protocol kProtocol, std::size_t kElemBytes>
struct Portion {
  /// Elements that a thread has in its registers at a time.
  static constexpr unsigned kElems = sizeof(Pack) / kElemBytes;

  std::size_t number = 0;  ///< in the row; of wide lines 8 to a line, the last of them half as long
  std::size_t first = 0;   ///< its first element
  unsigned count = 0;      ///< elements that there are; fewer at the row's end, and 0 beyond it
  bool inLine = true;      ///< false: a thread beyond the row's last wide line
};

namespace detail {

RONDO_DEVICE unsigned atMost(std::size_t left, unsigned most) {
  return left < most ? static_cast<unsigned>(left) : most;
}

/// Portion `number` of a row of `elems` elements in wide lines.
template <std::size_t kElemBytes>
RONDO_DEVICE Portion<Protocol::kWideLines, kElemBytes> widePortion(std::size_t number,
                                                                   std::size_t elems) {
  constexpr std::size_t kLineElems = kWideLineData / kElemBytes;
  Portion<Protocol::kWideLines, kElemBytes> portion;
  const std::size_t line = number / kWideLinePacks;
  const auto pack = static_cast<unsigned>(number % kWideLinePacks);
  const unsigned room = pack == kWideLinePacks - 1 ? portion.kElems / 2 : portion.kElems;
  portion.number = number;
  portion.first = line * kLineElems + pack * portion.kElems;
  portion.count = portion.first < elems ? atMost(elems - portion.first, room) : 0;
  portion.inLine = line * kLineElems < elems;
  return portion;
}

}  // namespace detail

/// All threads of the block: calls `visit` with each portion of the calling thread's until it
/// returns false. With wide lines all threads of a warp make as many calls, together, though there
/// may be nothing for some of them; so they must also be of one mind about going on.
template <Protocol kProtocol, std::size_t kElemBytes, class Visit>
RONDO_DEVICE void forEachPortion(std::size_t elems, const Visit& visit) {
  using Its = Portion<kProtocol, kElemBytes>;
  if constexpr (kProtocol == Protocol::kWideLines) {
    const std::size_t lines = ceilDiv(elems * kElemBytes, kWideLineData);
    const unsigned lane = threadIndex() % kWarpThreads;
    for (std::size_t number = threadIndex(); number - lane < lines * kWideLinePacks;
         number += blockThreads()) {
      if (!visit(detail::widePortion<kElemBytes>(number, elems))) return;
    }
  } else {
    for (std::size_t number = threadIndex(); number * Its::kElems < elems;
         number += blockThreads()) {
      Its portion;
      portion.number = number;
      portion.first = number * Its::kElems;
      portion.count = detail::atMost(elems - portion.first, Its::kElems);
      if (!visit(portion)) return;
    }
  }
}

}  // namespace rondo::device
