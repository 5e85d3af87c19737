#include "perf/race/harness/processors.h"

#include <sched.h>

#include "perf/race/harness/failure.h"

namespace rondo::race {

namespace {

cpu_set_t allowed() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (::sched_getaffinity(0, sizeof processors, &processors) != 0) failSystem("sched_getaffinity");
  return processors;
}

}  // namespace

int usableProcessors() {
  const cpu_set_t processors = allowed();
  return CPU_COUNT(&processors);
}

void bindThisThread(int rank) {
  const cpu_set_t processors = allowed();
  int toSkip = rank % CPU_COUNT(&processors);
  int processor = 0;
  while (!CPU_ISSET(processor, &processors) || toSkip-- > 0) {
    ++processor;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) failSystem("sched_setaffinity");
}

}  // namespace rondo::race
