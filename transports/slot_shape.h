// The slots of a connection in numbers: how large, how many, and the memory they take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/connection.h"
#include "transports/pages.h"

namespace rondo {

/// The slots of a connection, as the planner counts on them.
struct SlotShape {
  std::size_t bytes = 0;    ///< of each slot, a multiple of 64
  std::uint32_t count = 0;  ///< 2..kMaxSlots; a transport short of memory may make do with 2
};

/// Slots that every schedule can do with: with one, rings deadlock (docs/testing.md).
inline constexpr std::uint32_t kFewestSlots = 2;

/// The same with as few slots as possible.
constexpr SlotShape withFewestSlots(SlotShape slots) {
  return {slots.bytes, kFewestSlots};
}

/// Memory of a connection's one end, or of both where they share it, in whole pages.
constexpr std::size_t connectionBytes(SlotShape slots) {
  return wholePages(sizeof(ConnectionControl)) + wholePages(slots.bytes * slots.count);
}

}  // namespace rondo
