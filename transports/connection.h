// A connection: one direction between two ranks on one channel. Both ends map the same memory; who
// created it, or which wire it crosses, is a transport's business. This file is the contract.
//
//     byte 0      tail    slots filled so far          sender writes, receiver reads
//                         whether it has withdrawn     the same; see SendEnd::withdraw()
//     byte 64     head    slots released so far        receiver writes, sender reads
//                         filling it reads elsewhere   the same; see RecvEnd::beginRead()
//     byte 128    entry of slot 0: bytes, call         sender writes before tail
//     ...         entry of slot kMaxSlots - 1
//     ...         place of slot 0, if not in the slot  sender writes before tail
//     ...         place of slot kMaxSlots - 1
//
//     slots       `slots` places of `slotBytes` each   sender writes before tail
//
// Filling k (k = 0, 1, 2, ...) uses slot and entry k mod slots. The sender may fill when
// k < head + slots, the receiver may read when k < tail. Counters never wrap (64 bits) and live as
// long as the connection, so operations follow each other without resetting anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "kernels/host/store_choice.h"
#include "kernels/memory_order.h"
#include "transports/doorbell.h"
#include "transports/memory_names.h"
#include "transports/slot_entry.h"

namespace rondo {

/// Most slots a connection may have.
inline constexpr std::uint32_t kMaxSlots = 64;

/// Most channels between two ranks, as the settings allow (src/config.h).
inline constexpr int kMaxChannels = 32;

/// One more, on which ranks whose operations run on devices tell each other what they need.
inline constexpr int kHostChannel = kMaxChannels;

/// One for messages from rank to rank, which not all ranks take part in.
inline constexpr int kMessageChannel = kHostChannel + 1;

/// One for such messages between ranks on devices, which agree on it by kMessageChannel.
inline constexpr int kDeviceMessageChannel = kMessageChannel + 1;

/// Most connections from one rank to another.
inline constexpr int kMaxConnections = kMaxChannels + 3;

/// A counter on a cache line of its own, and a word that its writer seldom changes.
struct alignas(64) CounterLine {
  std::uint64_t value = 0;
  std::uint64_t note = 0;
};

struct ConnectionControl {
  CounterLine tail;
  CounterLine head;
  SlotEntry entries[kMaxSlots];
  SlotPlace places[kMaxSlots];
};

static_assert(offsetof(ConnectionControl, tail) == 0);
static_assert(offsetof(ConnectionControl, head) == 64);
static_assert(offsetof(ConnectionControl, entries) == 128);
static_assert(offsetof(ConnectionControl, places) == 128 + kMaxSlots * sizeof(SlotEntry));
static_assert(std::is_trivially_copyable_v<ConnectionControl>);

/// The memory of one connection as one process sees it. Not owned.
struct ConnectionMemory {
  ConnectionControl* control = nullptr;
  std::byte* slots = nullptr;
  std::size_t slotBytes = 0;
  std::uint32_t slotCount = 0;
  /// kPlain where the transport, and not the receiving processor, reads what is stored.
  host::StorePolicy stores = host::StorePolicy::kPlain;
  Doorbell* senderBell = nullptr;    ///< rung when a slot is released; null: the sender looks
  Doorbell* receiverBell = nullptr;  ///< rung when a slot is filled; null: the receiver looks
  MemoryNames* names = nullptr;      ///< null: payloads are in slots, always
  /// Of a sender with `names`: what is named is read by its adapter, not by the receiver.
  bool adapterReads = false;
};

/// The sending rank's end. @threads one at a time.
class SendEnd {
 public:
  /// @param peer the receiving rank
  SendEnd(const ConnectionMemory& memory, int peer)
      : memory_(memory), stores_(memory.stores), peer_(peer) {}

  /// True if slot() may be filled; stays true until post().
  bool slotFree() {
    if (filled_ < releasedSeen_ + memory_.slotCount) return true;
    releasedSeen_ = host::observeCounter(memory_.control->head.value);
    return filled_ < releasedSeen_ + memory_.slotCount;
  }

  /// The place of the next payload; slotBytes() long. Only while slotFree().
  std::byte* slot() const { return memory_.slots + index() * memory_.slotBytes; }

  /// Whether `bytes` bytes are best stored at slot() past the caches; if so, fenceStreamedStores()
  /// comes before post(). Scribbles on the slot. Only while slotFree(), at most once per filling.
  bool wantsStreamedStores(std::size_t bytes) { return stores_.streams(slot(), bytes); }

  /// Hands the filled slot over to the receiver, and wakes it if it sleeps.
  void post(const SlotEntry& entry) {
    memory_.control->entries[index()] = entry;
    host::postCounter(memory_.control->tail.value, ++filled_);
    if (memory_.receiverBell != nullptr) memory_.receiverBell->ring();
  }

  /// How the receiver finds `bytes` bytes at `data` where they are; empty: only in a slot.
  std::optional<SlotPlace> nameOf(const std::byte* data, std::size_t bytes) {
    if (memory_.names == nullptr) return std::nullopt;
    return memory_.names->nameOf(data, bytes);
  }

  /// Whether an adapter reads what is posted elsewhere, and no processor, which would take its
  /// lines away.
  bool adapterReads() const { return memory_.adapterReads; }

  /// As post(), for a payload that is at `place` and stays so until settled().
  void postElsewhere(SlotEntry entry, const SlotPlace& place) {
    memory_.control->places[index()] = place;
    entry.bytes |= SlotEntry::kElsewhere;
    lastElsewhere_ = filled_ + 1;
    post(entry);
  }

  /// True if the receiver has released every slot whose payload was elsewhere.
  bool settled() {
    if (lastElsewhere_ <= releasedSeen_) return true;
    releasedSeen_ = host::observeCounter(memory_.control->head.value);
    return lastElsewhere_ <= releasedSeen_;
  }

  /// For an operation that has failed: the receiver reads no payload elsewhere any more, but for
  /// one that it may have begun. Final. True if it reads none; false: ask again.
  bool withdraw() {
    if (settled()) return true;
    if (adapterReads()) memory_.names->withdraw();
    const std::uint64_t reading =
        host::withdrawPlaces(memory_.control->tail.note, memory_.control->head.note);
    return reading <= host::observeCounter(memory_.control->head.value);
  }

  std::size_t slotBytes() const { return memory_.slotBytes; }

  int peer() const { return peer_; }

 private:
  std::size_t index() const { return static_cast<std::size_t>(filled_ % memory_.slotCount); }

  ConnectionMemory memory_;
  std::uint64_t filled_ = 0;
  std::uint64_t releasedSeen_ = 0;   ///< head as last read: looked up again only when it runs out
  std::uint64_t lastElsewhere_ = 0;  ///< fillings up to the last one whose payload was elsewhere
  host::StoreChoice stores_;
  int peer_;
};

/// The receiving rank's end. @threads one at a time.
class RecvEnd {
 public:
  /// @param peer the sending rank
  RecvEnd(const ConnectionMemory& memory, int peer) : memory_(memory), peer_(peer) {}

  /// True if slot() and entry() may be read; stays true until release().
  bool slotFull() {
    if (released_ < filledSeen_) return true;
    filledSeen_ = host::observeCounter(memory_.control->tail.value);
    return released_ < filledSeen_;
  }

  /// The oldest full slot, unless its payload is elsewhere. Only while slotFull().
  const std::byte* slot() const { return memory_.slots + index() * memory_.slotBytes; }

  /// Before payload() is read, which release() or cancelRead() ends. False if the sender has
  /// withdrawn it: its operation has failed, and so will this one.
  bool beginRead() {
    if (!entry().isElsewhere()) return true;
    return host::claimPlace(memory_.control->head.note, released_ + 1, memory_.control->tail.note);
  }

  /// Takes beginRead() back.
  void cancelRead() { host::postCounter(memory_.control->head.note, released_); }

  /// The payload of the oldest full slot, wherever it is.
  const std::byte* payload() const {
    return entry().isElsewhere() ? memory_.names->find(memory_.control->places[index()]) : slot();
  }

  const SlotEntry& entry() const { return memory_.control->entries[index()]; }

  /// Gives the slot back to the sender, and wakes it if it sleeps; slot() must not be read any
  /// more.
  void release() {
    host::postCounter(memory_.control->head.value, ++released_);
    if (memory_.senderBell != nullptr) memory_.senderBell->ring();
  }

  int peer() const { return peer_; }

 private:
  std::size_t index() const { return static_cast<std::size_t>(released_ % memory_.slotCount); }

  ConnectionMemory memory_;
  std::uint64_t released_ = 0;
  std::uint64_t filledSeen_ = 0;  ///< tail as last read: looked up again only when it runs out
  int peer_;
};

}  // namespace rondo
