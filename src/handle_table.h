// Handles that can be checked: a number made of a slot's index and its generation, never a pointer.
// A handle that was destroyed, or never made, is refused instead of followed. Used for
// communicators (one table per process, in src/api.cc) and for reductions (one per communicator).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rondo {

/// What a handle stands for.
enum class HandleState : std::uint8_t {
  kLive,
  kDestroyed,  ///< it was taken, and perhaps its slot given to another
  kUnknown,    ///< the table never gave it out, as far as can be told
};

/// Owns up to 2^kIndexBits objects, each behind a handle.
///
///     handle, low bits first:   index (kIndexBits) | generation (kGenerationBits) | zero
///
/// A slot's generation starts at the table's first one (not 0, so a handle is never 0) and goes up
/// by one when its object is taken. After 2^kGenerationBits objects in one slot an old handle would
/// be accepted again.
///
/// @threads  any function from any thread, but an object may be taken only when nobody uses it.
///   find() waits for nobody and writes nothing.
template <class T, int kIndexBits, int kGenerationBits>
class HandleTable {
  static_assert(kIndexBits + kGenerationBits <= 64);

 public:
  using Handle = std::uint64_t;

  static constexpr std::size_t kCapacity = std::size_t{1} << kIndexBits;

  struct Found {
    T* object = nullptr;  ///< not null exactly if `state` is kLive
    HandleState state = HandleState::kUnknown;
  };

  /// @param firstGeneration the generation of all first handles; tables with different ones refuse
  ///   each other's handles. 0 counts as 1.
  explicit HandleTable(std::uint64_t firstGeneration)
      : firstGeneration_(firstGeneration == 0 ? 1 : firstGeneration & kGenerationMask) {}

  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  ~HandleTable() {
    for (std::size_t index = 0; index < used_; ++index) {
      const std::unique_ptr<T> object(slots_[index].object.load(std::memory_order_relaxed));
    }
  }

  /// Takes ownership. Empty, with `object` unchanged, if the table is full.
  std::optional<Handle> insert(std::unique_ptr<T>&& object);

  Found find(Handle handle) const noexcept;

  /// Gives ownership back and makes the handle invalid; null if it is not live.
  std::unique_ptr<T> take(Handle handle);

 private:
  static constexpr std::uint64_t kGenerationMask =
      kGenerationBits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << kGenerationBits) - 1;

  struct Slot {
    /// Generations given out so far; the current one is firstGeneration_ + uses.
    std::atomic<std::uint64_t> uses{0};
    /// Null while the slot is free.
    std::atomic<T*> object{nullptr};
  };

  static constexpr std::size_t indexOf(Handle handle) {
    return static_cast<std::size_t>(handle & (kCapacity - 1));
  }

  const std::uint64_t firstGeneration_;
  std::array<Slot, kCapacity> slots_{};
  std::mutex mutex_;               ///< guards the two below, and writes to slots_
  std::vector<std::size_t> free_;  ///< indices given back
  std::size_t used_ = 0;           ///< slots that ever held an object
};

}  // namespace rondo
