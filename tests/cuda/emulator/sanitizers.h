// What the sanitizers must be told of threads that they do not know: fibers, and what orders them.
// The emulator's core is compiled without instrumentation, so that its own bookkeeping is nobody's
// race; RONDO_EMULATOR_TSAN and RONDO_EMULATOR_ASAN say how the kernels beside it are compiled.
// Without them every function here is empty.
#pragma once

#include <cstddef>

#include <pthread.h>

#if defined(RONDO_EMULATOR_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif
#if defined(RONDO_EMULATOR_ASAN)
extern "C" {
void __sanitizer_start_switch_fiber(void** fakeStack, const void* bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void* fakeStack, const void** bottom, std::size_t* bytes);
void __asan_unpoison_memory_region(const volatile void* memory, std::size_t bytes);
}
#endif

namespace rondo::emulator::sanitizers {

/// The memory of a stack.
struct StackMemory {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

#if defined(RONDO_EMULATOR_TSAN)
inline void* currentFiber() {
  return __tsan_get_current_fiber();
}

inline void* createFiber() {
  return __tsan_create_fiber(0);
}

inline void destroyFiber(void* fiber) {
  __tsan_destroy_fiber(fiber);
}

/// Whoever acquire()s the same address later sees what this fiber has done.
inline void release(void* address) {
  __tsan_release(address);
}

inline void acquire(void* address) {
  __tsan_acquire(address);
}

/// What this fiber does from here to the end of the scope races with nothing.
class Unwatched {
 public:
  Unwatched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }

  ~Unwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }

  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

/// The next instruction that is not the core's runs on `fiber`. A switch orders nothing: threads of
/// a GPU run at the same time.
inline void announceSwitch(void* fiber) {
  constexpr unsigned kNoSync = 1;
  __tsan_switch_to_fiber(fiber, kNoSync);
}

/// release() in the name of `fiber`, which will not run again; `current` is the one that calls.
inline void releaseFor(void* fiber, void* current, void* address) {
  announceSwitch(fiber);
  release(address);
  announceSwitch(current);
}
#else
inline void* currentFiber() {
  return nullptr;
}

inline void* createFiber() {
  return nullptr;
}

inline void destroyFiber(void*) {}

inline void release(void*) {}

inline void acquire(void*) {}

struct Unwatched {
  Unwatched() {}
};

inline void announceSwitch(void*) {}

inline void releaseFor(void*, void*, void*) {}
#endif

#if defined(RONDO_EMULATOR_ASAN)
/// The stack of the OS thread that calls.
inline StackMemory currentStack() {
  StackMemory stack;
  void* bottom = nullptr;
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom, &stack.bytes);
  pthread_attr_destroy(&attributes);
  stack.bottom = bottom;
  return stack;
}

/// Before a switch to `stack`; `fakeStack` keeps what belongs to the one that is left, or is null
/// if it is left for ever.
inline void beginStackSwitch(void** fakeStack, const StackMemory& stack) {
  __sanitizer_start_switch_fiber(fakeStack, stack.bottom, stack.bytes);
}

/// After a switch, with what belongs to the stack that is back.
inline void endStackSwitch(void* fakeStack) {
  __sanitizer_finish_switch_fiber(fakeStack, nullptr, nullptr);
}

/// Forgets the frames that were left on a stack.
inline void forgetFrames(const StackMemory& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}
#else
inline StackMemory currentStack() {
  return {};
}

inline void beginStackSwitch(void**, const StackMemory&) {}

inline void endStackSwitch(void*) {}

inline void forgetFrames(const StackMemory&) {}
#endif

}  // namespace rondo::emulator::sanitizers
