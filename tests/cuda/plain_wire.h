// A connection between two ranks of an emulated GPU, for tests of kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/launch.h"
#include "transports/connection.h"

namespace rondo::testing {

/// A connection in plain memory, and both its ends.
struct PlainWire {
  PlainWire(std::size_t slotBytes, std::uint32_t slotCount)
      : slots(slotBytes * slotCount / sizeof(device::Pack)) {
    send.tail = &tail.value;
    send.head = &head.value;
    send.entries = entries.data();
    send.slots = reinterpret_cast<std::byte*>(slots.data());
    send.slotBytes = static_cast<std::uint32_t>(slotBytes);
    send.slotCount = slotCount;
    recv = send;
  }

  CounterLine tail;
  CounterLine head;
  std::array<SlotEntry, kMaxSlots> entries{};
  std::vector<device::Pack> slots;
  device::End send;
  device::End recv;
};

}  // namespace rondo::testing
