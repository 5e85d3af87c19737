// What crosses a data connection: one direction of one channel between two ranks.
//
//     sender -> receiver   SlotHeader, payload, SlotHeader, payload, ..., SlotHeader with kGoodbye
//     receiver -> sender   a Credit, now and then
//
// All numbers are little-endian. A sender never has more slots under way than it has itself;
// those for which the receiver, which may have fewer, has no room wait in the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rondo::tcp {

/// Before each payload.
struct SlotHeader {
  std::uint32_t bytes = 0;  ///< of the payload
  std::uint32_t kind = 0;   ///< SlotKind
  std::uint64_t call = 0;   ///< SlotEntry::call
};

enum SlotKind : std::uint32_t {
  kSlot = 0x746f6c53,     ///< "Slot"
  kGoodbye = 0x65796247,  ///< "Gbye": nothing follows; the end of the connection is no loss
};

/// How many slots the receiver has released so far.
struct Credit {
  std::uint64_t released = 0;
};

static_assert(sizeof(SlotHeader) == 16 && offsetof(SlotHeader, call) == 8);
static_assert(sizeof(Credit) == 8);
static_assert(std::is_trivially_copyable_v<SlotHeader> && std::is_trivially_copyable_v<Credit>);

/// A header from the network.
/// @return null if it is one, else what is wrong with it. Static text.
constexpr const char* faultOf(const SlotHeader& header, std::size_t slotBytes) {
  if (header.kind == kGoodbye) return header.bytes == 0 ? nullptr : "its goodbye has a payload";
  if (header.kind != kSlot) return "its message is neither a slot nor a goodbye";
  return header.bytes <= slotBytes ? nullptr : "its slot is longer than slots are";
}

/// A credit from the network.
/// @param before the last one; @param sent how many slots have been sent
constexpr const char* faultOf(const Credit& credit, std::uint64_t before, std::uint64_t sent) {
  if (credit.released < before) return "it takes back slots that it has released";
  return credit.released <= sent ? nullptr : "it releases slots that were never sent";
}

}  // namespace rondo::tcp
