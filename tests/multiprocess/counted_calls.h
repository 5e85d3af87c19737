// What a thread asks of the C library and the kernel, counted: by functions that stand before the C
// library's in this program, and by a filter that lets few system calls pass.
#pragma once

#include <cstdint>

namespace rondo::testing {

struct CallCounts {
  std::int64_t allocations = 0;  ///< malloc, calloc, realloc, aligned ones, and free
  std::int64_t locks = 0;        ///< of mutexes and read-write locks
  std::int64_t clockReads = 0;
  std::int64_t yields = 0;
  std::int64_t sleeps = 0;       ///< system calls futex
  std::int64_t systemCalls = 0;  ///< all others
  int lastSystemCall = -1;       ///< the number of the last of them; -1: none
};

/// From now on system calls of this thread are counted; others than yields, futexes, write and exit
/// fail. There is no way back: for a process that is to end soon.
/// @return whether the kernel and its administrator allow that
bool countSystemCalls();

/// Begins to count on this thread, at zero.
void startCounting();

/// What happened on this thread since startCounting().
CallCounts stopCounting();

}  // namespace rondo::testing
