// A connection's memory that belongs to one process: between ranks that are its threads, or as the
// one end of a connection over a wire. It has its pages for itself, so that devices can map it.
#pragma once

#include <memory>
#include <new>

#include "transports/aligned_buffer.h"
#include "transports/connection.h"
#include "transports/pages.h"

namespace rondo {

class PrivateConnection {
 public:
  /// Slot memory is reserved here and touched by its first use. Null if there is no memory.
  static std::unique_ptr<PrivateConnection> make(std::size_t slotBytes, std::uint32_t slotCount) {
    auto made = std::unique_ptr<PrivateConnection>(new PrivateConnection(slotBytes, slotCount));
    if (made->pages_.data() == nullptr) return nullptr;
    made->control_ = new (made->pages_.data()) ConnectionControl;
    return made;
  }

  /// Valid as long as this object.
  ConnectionMemory memory() {
    ConnectionMemory memory;
    memory.control = control_;
    memory.slots = slots();
    memory.slotBytes = slotBytes_;
    memory.slotCount = slotCount_;
    return memory;
  }

  ConnectionControl& control() { return *control_; }

  std::byte* slot(std::uint64_t number) {
    return slots() + static_cast<std::size_t>(number % slotCount_) * slotBytes_;
  }

  SlotEntry& entry(std::uint64_t number) { return control_->entries[number % slotCount_]; }

  std::size_t slotBytes() const { return slotBytes_; }

  std::uint32_t slotCount() const { return slotCount_; }

 private:
  PrivateConnection(std::size_t slotBytes, std::uint32_t slotCount)
      : pages_(kControlBytes + wholePages(slotBytes * slotCount)),
        slotBytes_(slotBytes),
        slotCount_(slotCount) {}

  static constexpr std::size_t kControlBytes = wholePages(sizeof(ConnectionControl));

  std::byte* slots() const { return pages_.data() + kControlBytes; }

  AlignedBuffer pages_;
  ConnectionControl* control_ = nullptr;  // at their beginning
  std::size_t slotBytes_;
  std::uint32_t slotCount_;
};

}  // namespace rondo
