// A clock that is cheap enough to time single calls of under a microsecond, and that all processes
// of the machine share.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rondo::race {

/// Counts up at a constant rate, the same on all processors. Not reordered with loads before it.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  unsigned processor = 0;
  return __rdtscp(&processor);
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Seconds of one tick, measured for 30 ms.
double measureSecondsPerTick();

}  // namespace rondo::race
