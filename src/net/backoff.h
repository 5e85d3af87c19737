// How long to wait before the next try: twice as long each time, with jitter, so that many ranks
// that were refused together do not come back together.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include <unistd.h>

#include "src/net/deadline.h"

namespace rondo {

/// @threads one at a time.
class Backoff {
 public:
  using Delay = std::chrono::microseconds;

  /// The first delay: long for a host that is up, short for a person.
  static constexpr Delay kFirst = std::chrono::milliseconds{4};
  /// No delay is longer; raising it lowers the load of many ranks that wait for a late root.
  static constexpr Delay kLongest = std::chrono::milliseconds{500};

  /// Jitter that differs between ranks, be they threads, processes or hosts.
  Backoff()
      : Backoff(static_cast<unsigned>(
            std::hash<std::thread::id>{}(std::this_thread::get_id()) ^
            static_cast<std::size_t>(Deadline::Clock::now().time_since_epoch().count()) ^
            static_cast<std::size_t>(::getpid()))) {}

  /// Jitter that is a function of `seed`.
  explicit Backoff(unsigned seed) : random_(seed) {}

  /// The next delay: between half of it and all of it, by chance.
  Delay next() {
    const Delay longest = delay_;
    delay_ = std::min(delay_ * 2, kLongest);
    std::uniform_int_distribution<Delay::rep> jitter(longest.count() / 2, longest.count());
    return Delay{jitter(random_)};
  }

  /// Sleeps for the next delay, but not beyond `deadline`.
  void pause(Deadline deadline) {
    const Deadline awake{Deadline::Clock::now() + next()};
    std::this_thread::sleep_until(earlier(awake, deadline).time());
  }

 private:
  Delay delay_ = kFirst;
  std::minstd_rand random_;
};

}  // namespace rondo
