// Handles that can be checked: a number made of a slot's index and its generation, never a pointer.
// A handle that was destroyed, or never made, is refused instead of followed. Used for
// communicators (src/communicator_handles.h, one table per process) and for reductions (one per
// communicator).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/memory_order.h"

namespace rondo {

/// What a handle stands for.
enum class HandleState : std::uint8_t {
  kLive,
  kDestroyed,  ///< it was taken, and perhaps its slot given to another
  kUnknown,    ///< this table never gave it out
};

/// Owns up to 2^kIndexBits objects, each behind a handle:
///
///     low bits first:   index (kIndexBits) | generation (kGenerationBits) | zero
///
/// The generation of a slot's first object is the table's; each further object in the slot has the
/// next one. After 2^kGenerationBits objects in one slot an old handle would be accepted again.
///
/// @threads  any function from any thread, except that an object may be taken only while nobody
///   uses it. find() writes nothing and waits for nobody.
template <class T, int kIndexBits, int kGenerationBits>
class HandleTable {
  static_assert(kIndexBits > 0 && kGenerationBits > 0 && kIndexBits + kGenerationBits < 64);

 public:
  using Handle = std::uint64_t;

  static constexpr std::size_t kCapacity = std::size_t{1} << kIndexBits;

  struct Found {
    T* object = nullptr;  ///< not null exactly if `state` is kLive
    HandleState state = HandleState::kUnknown;
  };

  /// @param firstGeneration cut to kGenerationBits. Tables whose numbers are far apart refuse each
  ///   other's handles.
  explicit HandleTable(std::uint64_t firstGeneration)
      : firstGeneration_(firstGeneration & kGenerationMask) {}

  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  HandleTable(HandleTable&&) = delete;
  HandleTable& operator=(HandleTable&&) = delete;
  ~HandleTable() = default;

  /// Takes ownership. Empty, with `object` unchanged, if the table is full.
  std::optional<Handle> insert(std::unique_ptr<T>&& object) {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && used_ == kCapacity) return std::nullopt;
    if (free_.empty()) free_.push_back(used_++);
    const std::size_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.object = std::move(object);
    host::postCounter(slot.changes, slot.changes + 1);
    const std::uint64_t earlier = slot.changes / 2;
    return ((firstGeneration_ + earlier) & kGenerationMask) << kIndexBits | index;
  }

  Found find(Handle handle) const noexcept {
    if (handle >> (kIndexBits + kGenerationBits) != 0) return {};
    Slot& slot = slots_[indexOf(handle)];
    const std::uint64_t changes = host::observeCounter(slot.changes);
    const std::uint64_t inserted = (changes + 1) / 2;
    const std::uint64_t earlier = ((handle >> kIndexBits) - firstGeneration_) & kGenerationMask;
    if (earlier >= inserted) return {};
    const bool newest = ((earlier + 1 - inserted) & kGenerationMask) == 0;
    const bool live = newest && changes % 2 == 1;
    if (!live) return {nullptr, HandleState::kDestroyed};
    return {slot.object.get(), HandleState::kLive};
  }

  /// Gives ownership back and makes the handle invalid; null if it is not live.
  std::unique_ptr<T> take(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (find(handle).object == nullptr) return nullptr;
    free_.push_back(indexOf(handle));
    Slot& slot = slots_[indexOf(handle)];
    host::postCounter(slot.changes, slot.changes + 1);
    return std::move(slot.object);
  }

 private:
  static constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << kGenerationBits) - 1;

  struct Slot {
    /// Insertions plus removals so far: odd while the slot holds an object.
    std::uint64_t changes = 0;
    /// Read only by those who saw, in `changes`, that their handle is live.
    std::unique_ptr<T> object;
  };

  static constexpr std::size_t indexOf(Handle handle) {
    return static_cast<std::size_t>(handle & (kCapacity - 1));
  }

  const std::uint64_t firstGeneration_;
  mutable std::array<Slot, kCapacity> slots_{};  ///< mutable: observeCounter() wants so
  std::mutex mutex_;                             ///< guards the rest, and writes to slots_
  std::vector<std::size_t> free_;  ///< indices without an object, of those below used_
  std::size_t used_ = 0;           ///< slots that ever held an object
};

}  // namespace rondo
