// How many lines strangers may cause in the log: a few at once, then one a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace rondo {

/// @threads one at a time.
class LogQuota {
 public:
  using Clock = std::chrono::steady_clock;

  /// Lines at once. More show more of a port scan, and bury more of what else was said.
  static constexpr int kBurst = 16;
  static constexpr std::chrono::seconds kRefill{1};

  /// Asks to say one line.
  /// @return how many were withheld since the last one that was said; nothing: withhold this too.
  std::optional<std::size_t> ask(Clock::time_point now) {
    if (now >= refilled_ + kRefill) {
      const auto earned = (now - refilled_) / kRefill;
      left_ = static_cast<int>(std::min<decltype(earned)>(kBurst, left_ + earned));
      refilled_ = now;
    }
    if (left_ == 0) {
      ++withheld_;
      return std::nullopt;
    }
    --left_;
    return std::exchange(withheld_, 0);
  }

 private:
  int left_ = kBurst;
  Clock::time_point refilled_ = Clock::now();
  std::size_t withheld_ = 0;
};

}  // namespace rondo
