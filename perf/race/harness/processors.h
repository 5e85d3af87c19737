// On which processors the ranks run, and how they wait there.
#pragma once

namespace rondo::race {

/// How many the calling thread may use.
int usableProcessors();

/// Binds the calling thread, and none that a library has made, to one of the processors it may use:
/// the `rank`-th, counted round.
void bindThisThread(int rank);

/// Tells the processor that this is a polling loop.
inline void relaxProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace rondo::race
