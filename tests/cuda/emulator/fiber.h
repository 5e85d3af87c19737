// Fibers: several flows of control in one OS thread, each with a stack of its own, that give way to
// each other where they say so. Who runs next is not decided here (schedule.h).
#pragma once

#include <cstddef>
#include <vector>

#include "tests/cuda/emulator/sanitizers.h"

#if !defined(__x86_64__) || defined(RONDO_EMULATOR_PORTABLE)
#define RONDO_EMULATOR_UCONTEXT 1
#include <ucontext.h>
#endif

namespace rondo::emulator {

/// A flow of control that is running, or stands where it gave way.
struct Fiber {
#if defined(RONDO_EMULATOR_UCONTEXT)
  ucontext_t context;
#else
  /// Where the registers lie that a call preserves, on the fiber's stack.
  void* stackPointer = nullptr;
#endif
  /// The memory of the stack without its guard page.
  sanitizers::StackMemory stack;
  /// What the sanitizers know this fiber as.
  void* tsanFiber = nullptr;
  void* asanFakeStack = nullptr;
};

/// Makes `fiber` the name of the flow that calls, an OS thread's own.
void adoptCurrent(Fiber& fiber);

/// Lets `fiber` begin with `entry` the next time it is switched to. `entry` never returns.
void prepare(Fiber& fiber, void (*entry)());

/// What a flow of control that gives way does afterwards.
enum class Leaving { kComesBack, kForEver };

/// Goes on with `to`; returns when somebody switches back to `from`, which is the one that calls.
void switchFiber(Fiber& from, Fiber& to, Leaving leaving = Leaving::kComesBack);

/// To be called first by the `entry` of a fiber.
void enterFiber();

/// Stacks are worth keeping: a test launches hundreds of threads many times. One pool per OS
/// thread; fibers do not leave it.
class FiberPool {
 public:
  FiberPool() = default;
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// The pool of the OS thread that calls.
  static FiberPool& ofThisThread();

  /// A fiber to prepare().
  Fiber* take();

  /// Takes a fiber back that has left for ever.
  void give(Fiber* fiber) { free_.push_back(fiber); }

  /// Ends a fiber that stands somewhere and will not go on. Nothing on its stack is destructed.
  static void abandon(Fiber* fiber);

 private:
  std::vector<Fiber*> free_;
  std::size_t made_ = 0;
};

}  // namespace rondo::emulator
