// A first-in, first-out queue in one piece of memory, which grows when it is full and is never
// given back: once it is as long as it will be, nothing allocates.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rondo {

/// @threads one at a time
template <class Task>
class TaskQueue {
 public:
  bool empty() const { return size_ == 0; }

  /// Makes room for one more. Changes nothing if there is no memory.
  void reserve() {
    if (size_ < slots_.size()) return;
    std::vector<std::optional<Task>> larger(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    for (std::size_t at = 0; at < size_; ++at)
      larger[at] = std::move(slots_[(first_ + at) % slots_.size()]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  /// Puts `task` last. There must be room.
  Task& push(Task task) {
    return slots_[(first_ + size_++) % slots_.size()].emplace(std::move(task));
  }

  /// Takes the first. There must be one.
  Task pop() {
    std::optional<Task>& slot = slots_[first_];
    Task task = *std::move(slot);
    slot.reset();
    first_ = (first_ + 1) % slots_.size();
    --size_;
    return task;
  }

 private:
  static constexpr std::size_t kFirstSlots = 16;

  std::vector<std::optional<Task>> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rondo
