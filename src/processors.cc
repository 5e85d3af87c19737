#include "src/processors.h"

#include <algorithm>
#include <thread>

#include <sched.h>

namespace rondo {

int usableProcessors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // The call fails on machines with more processors than cpu_set_t holds (1024).
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(CPU_COUNT(&mask), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace rondo
