#include "tests/cuda/emulator/fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace rondo::emulator {
namespace {

/// Bytes of a stack: gtest's assertions and the sanitizers' reports fit. Pages come when touched.
constexpr std::size_t kStackBytes = 256 << 10;

/// Tops of stacks lie at different places of their pages, in cache lines and in turn: as many
/// stacks with the same offset would share a handful of the first cache's sets.
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kTopOffsets = 32;

std::size_t pageBytes() {
  static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

/// A stack above a page that nobody may touch, its top shifted by `offset` bytes.
sanitizers::StackMemory mapStack(std::size_t offset) {
  const std::size_t bytes = kStackBytes + pageBytes();
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, pageBytes(), PROT_NONE) != 0) {
    std::perror("no memory for the stack of an emulated thread");
    std::abort();
  }
  return {static_cast<std::byte*>(memory) + pageBytes(), kStackBytes - offset};
}

void unmapStack(const sanitizers::StackMemory& stack) {
  const auto* const bottom = static_cast<const std::byte*>(stack.bottom);
  munmap(const_cast<std::byte*>(bottom - pageBytes()), kStackBytes + pageBytes());
}

void destroy(Fiber* fiber) {
  sanitizers::destroyFiber(fiber->tsanFiber);
  unmapStack(fiber->stack);
  delete fiber;
}

}  // namespace

#if defined(RONDO_EMULATOR_UCONTEXT)

void prepare(Fiber& fiber, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = const_cast<void*>(fiber.stack.bottom);
  fiber.context.uc_stack.ss_size = fiber.stack.bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}

namespace {

void switchContext(Fiber& from, Fiber& to) {
  swapcontext(&from.context, &to.context);
}

}  // namespace

#else

// rondoEmulatorSwitch(void** from, void* to): pushes the registers that a call preserves (System V
// ABI for x86-64), leaves the stack pointer in *from, and pops those of the stack at `to`. MXCSR
// and the x87 control word stay: no kernel changes them.
extern "C" void rondoEmulatorSwitch(void** from, void* to);
asm(R"(
  .text
  .globl rondoEmulatorSwitch
  .hidden rondoEmulatorSwitch
  .type rondoEmulatorSwitch, @function
rondoEmulatorSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size rondoEmulatorSwitch, . - rondoEmulatorSwitch
)");

void prepare(Fiber& fiber, void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  auto* const bottom = static_cast<std::uintptr_t*>(const_cast<void*>(fiber.stack.bottom));
  std::uintptr_t* word = bottom + fiber.stack.bytes / sizeof *bottom;
  *--word = 0;  // where `entry` would return to; also ends a debugger's backtrace
  *--word = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 0; i < kSavedRegisters; ++i)
    *--word = 0;
  fiber.stackPointer = word;
}

namespace {

void switchContext(Fiber& from, Fiber& to) {
  rondoEmulatorSwitch(&from.stackPointer, to.stackPointer);
}

}  // namespace

#endif

void adoptCurrent(Fiber& fiber) {
  fiber.stack = sanitizers::currentStack();
  fiber.tsanFiber = sanitizers::currentFiber();
}

void switchFiber(Fiber& from, Fiber& to, Leaving leaving) {
  void** const fakeStack = leaving == Leaving::kForEver ? nullptr : &from.asanFakeStack;
  sanitizers::beginStackSwitch(fakeStack, to.stack);
  sanitizers::announceSwitch(to.tsanFiber);
  switchContext(from, to);
  sanitizers::endStackSwitch(from.asanFakeStack);
}

void enterFiber() {
  sanitizers::endStackSwitch(nullptr);
}

FiberPool& FiberPool::ofThisThread() {
  thread_local FiberPool pool;
  return pool;
}

FiberPool::~FiberPool() {
  for (Fiber* fiber : free_)
    destroy(fiber);
}

Fiber* FiberPool::take() {
  if (free_.empty()) {
    auto* const fiber = new Fiber;
    fiber->stack = mapStack(made_++ % kTopOffsets * kLineBytes);
    fiber->tsanFiber = sanitizers::createFiber();
    return fiber;
  }
  Fiber* const fiber = free_.back();
  free_.pop_back();
  return fiber;
}

void FiberPool::abandon(Fiber* fiber) {
  sanitizers::forgetFrames(fiber->stack);
  destroy(fiber);
}

}  // namespace rondo::emulator
