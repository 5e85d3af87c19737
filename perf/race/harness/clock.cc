#include "perf/race/harness/clock.h"

namespace rondo::race {

double measureSecondsPerTick() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::uint64_t first = ticks();
  auto now = start;
  while (now - start < std::chrono::milliseconds(30)) {
    now = Clock::now();
  }
  const std::uint64_t last = ticks();
  return std::chrono::duration<double>(now - start).count() / static_cast<double>(last - first);
}

}  // namespace rondo::race
