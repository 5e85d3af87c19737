// Until when something may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>

#include "kernels/memory_order.h"

namespace rondo {

/// A point in time on the steady clock, or never.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Never.
  constexpr Deadline() = default;

  explicit constexpr Deadline(Clock::time_point at) : at_(at) {}

  /// Now: what cannot be done at once is late.
  static Deadline immediate() { return Deadline{Clock::now()}; }

  /// `duration` from now; zero means never, as in all settings.
  static Deadline within(std::chrono::milliseconds duration) {
    if (duration.count() == 0) return Deadline{};
    return Deadline{Clock::now() + duration};
  }

  /// This deadline, which is also over when `flag` is raised (host::raiseFlag). Who waits for a
  /// socket sees that within kLook.
  Deadline orRaised(std::uint32_t& flag) const {
    Deadline deadline = *this;
    deadline.flag_ = &flag;
    return deadline;
  }

  /// The latest time.
  Clock::time_point time() const { return at_; }

  /// There is no latest time.
  bool never() const { return at_ == Clock::time_point::max(); }

  bool passed() const { return raised() || (!never() && Clock::now() >= at_); }

  /// How long from now, rounded up; zero once it has passed. Of no meaning for never.
  std::chrono::milliseconds remaining() const {
    if (raised()) return {};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

  /// The argument of poll(): milliseconds, -1 for never.
  int pollTimeout() const {
    if (never() && flag_ == nullptr) return -1;
    using Count = std::chrono::milliseconds::rep;
    const Count most = flag_ != nullptr ? kLook.count() : INT_MAX;
    return static_cast<int>(never() ? most : std::min<Count>(remaining().count(), most));
  }

  /// This deadline, moved by `duration`.
  Deadline extendedBy(std::chrono::milliseconds duration) const {
    Deadline deadline = *this;
    if (!never()) deadline.at_ += duration;
    return deadline;
  }

  friend constexpr bool operator==(const Deadline&, const Deadline&) = default;

  friend constexpr bool operator<(const Deadline& one, const Deadline& other) {
    return one.at_ < other.at_;
  }

  /// The one that comes first; over when the flag of either is raised. Only one may have a flag.
  friend constexpr Deadline earlier(Deadline one, Deadline other) {
    Deadline first = std::min(one, other);
    first.flag_ = one.flag_ != nullptr ? one.flag_ : other.flag_;
    return first;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{20};

  bool raised() const { return flag_ != nullptr && host::flagRaised(*flag_); }

  Clock::time_point at_ = Clock::time_point::max();
  std::uint32_t* flag_ = nullptr;  // not owned
};

}  // namespace rondo
