// Until when something may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

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

  Clock::time_point time() const { return at_; }

  bool never() const { return at_ == Clock::time_point::max(); }

  bool passed() const { return !never() && Clock::now() >= at_; }

  /// How long from now, rounded up; zero once it has passed. Of no meaning for never.
  std::chrono::milliseconds remaining() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

  /// The argument of poll(): milliseconds, -1 for never.
  int pollTimeout() const {
    if (never()) return -1;
    return static_cast<int>(std::min<std::chrono::milliseconds::rep>(remaining().count(), INT_MAX));
  }

  /// This deadline, moved by `duration`.
  Deadline extendedBy(std::chrono::milliseconds duration) const {
    return never() ? *this : Deadline{at_ + duration};
  }

  friend constexpr bool operator==(const Deadline&, const Deadline&) = default;

  friend constexpr bool operator<(const Deadline& one, const Deadline& other) {
    return one.at_ < other.at_;
  }

 private:
  Clock::time_point at_ = Clock::time_point::max();
};

/// The one that comes first.
constexpr Deadline earlier(Deadline one, Deadline other) {
  return std::min(one, other);
}

}  // namespace rondo
