// A clock that costs a few nanoseconds to read.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo::host {

/// Ticks since some time in the past; on x86-64 no system call, and not ordered with the
/// instructions around it.
inline std::uint64_t cycleCounter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // the header of intrinsics takes 0.2 s to compile
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// How long a tick is, found by comparing with the steady clock since it was made: good to a
/// percent after some 10 us.
class CycleRate {
 public:
  /// Nanoseconds that `cycles` ticks take. Reads the steady clock, unless it has existed for long
  /// before a call: then the answer of that call is good for ever.
  double nanoseconds(std::uint64_t cycles) {
    if (!settled_) measure();
    return static_cast<double>(cycles) * nanosecondsPerTick_;
  }

 private:
  static constexpr std::chrono::milliseconds kLong{1};

  void measure() {
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - time_;
    const auto ticks = static_cast<double>(cycleCounter() - cycles_);
    nanosecondsPerTick_ = ticks > 0 ? passed.count() / ticks : 0;
    settled_ = passed >= kLong;
  }

  std::chrono::steady_clock::time_point time_ = std::chrono::steady_clock::now();
  std::uint64_t cycles_ = cycleCounter();
  double nanosecondsPerTick_ = 0;
  bool settled_ = false;
};

}  // namespace rondo::host
