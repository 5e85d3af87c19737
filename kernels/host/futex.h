// Sleeping on a word of memory that several processes may share, and waking who sleeps there: the
// two system calls, nothing else. What they mean for memory order is in kernels/memory_order.h.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo::host {

/// Sleeps while `word` holds `expected`, at most for `atMost`. May return early.
void futexWait(std::uint32_t& word, std::uint32_t expected, std::chrono::microseconds atMost);

/// Wakes the thread that sleeps on `word`, if there is one.
void futexWake(std::uint32_t& word);

}  // namespace rondo::host
