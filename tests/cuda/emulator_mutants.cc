// Kernels with and without a bug that only a sanitizer sees: ThreadSanitizer must name both
// functions that race, AddressSanitizer what goes beyond the block's memory, and neither may say
// anything about the correct ones. Without them nobody sees a missing release: threads that take
// turns on one processor see everything in order.
//
//   emulator_mutants <kernel>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulator/machine.h"

namespace rondo::emulator {
namespace {

constexpr unsigned kThreads = 64;
constexpr std::uint64_t kTimes = 4;

/// What two ranks share: words that one writes and the other reads, in turn.
struct Slot {
  std::array<std::uint64_t, kThreads> words{};
  std::uint64_t filled = 0;
  std::uint64_t emptied = 0;
};

/// What a mutant of the two kernels leaves out.
struct Mutant {
  bool relaxedPost = false;
  bool relaxedObserve = false;
  bool noBarrierBeforePost = false;
  bool noBarrierAfterObserve = false;
  bool voteForBarrier = false;
  bool noCredit = false;
  bool noSecondBarrier = false;
};

[[gnu::noinline]] void writeSlot(Slot& slot, std::uint64_t value) {
  slot.words[device::threadIndex()] = value;
}

/// Reads what another thread than the one of the same number wrote.
[[gnu::noinline]] std::uint64_t readSlot(const Slot& slot) {
  return slot.words[(device::threadIndex() + kThreads / 2) % kThreads];
}

void meet(const Mutant& mutant) {
  if (mutant.voteForBarrier) {
    device::anyInWarp(true);
  } else {
    device::syncBlock();
  }
}

void post(const Mutant& mutant, std::uint64_t& counter, std::uint64_t value) {
  if (mutant.relaxedPost) {
    std::atomic_ref(counter).store(value, std::memory_order_relaxed);
  } else {
    device::postCounter(counter, value);
  }
}

void waitFor(const Mutant& mutant, std::uint64_t& counter, std::uint64_t value) {
  const std::uint32_t word = 0;
  if (mutant.relaxedObserve) {
    while (std::atomic_ref(counter).load(std::memory_order_relaxed) < value)
      static_cast<void>(device::peekFlag(word));  // others run
  } else {
    while (device::observeCounter(counter) < value) {
    }
  }
}

void writer(const Mutant& mutant, Slot& slot) {
  for (std::uint64_t i = 1; i <= kTimes; ++i) {
    if (!mutant.noCredit) waitFor({}, slot.emptied, i - 1);
    device::syncBlock();
    writeSlot(slot, i);
    if (!mutant.noBarrierBeforePost) meet(mutant);
    if (device::threadIndex() == 0) post(mutant, slot.filled, i);
  }
}

void reader(const Mutant& mutant, Slot& slot) {
  for (std::uint64_t i = 1; i <= kTimes; ++i) {
    if (device::threadIndex() == 0) waitFor(mutant, slot.filled, i);
    if (!mutant.noBarrierAfterObserve) meet(mutant);
    static_cast<void>(readSlot(slot));
    device::syncBlock();
    if (device::threadIndex() == 0) device::postCounter(slot.emptied, i);
  }
}

/// Two ranks, one of which writes what the other reads.
void launchPair(Machine& machine, const Mutant& mutant, Slot& slot) {
  machine.launch({.name = "writer", .threads = kThreads}, [&] { writer(mutant, slot); });
  machine.launch({.name = "reader", .threads = kThreads}, [&] { reader(mutant, slot); });
}

/// Two launches, the second of which reads what the first wrote, without looking at a counter:
/// right if they are of one rank.
void launchTwo(Machine& machine, const std::string& second, Slot& slot) {
  machine.launch({.name = "rank 0", .threads = kThreads}, [&] { writeSlot(slot, 1); });
  machine.launch({.name = second, .threads = kThreads}, [&] { static_cast<void>(readSlot(slot)); });
}

/// Threads of one block that hand each other shared memory, again and again.
void launchShared(Machine& machine, const Mutant& mutant) {
  machine.launch({.name = "rank 0", .threads = kThreads, .sharedBytes = sizeof(Slot)}, [&] {
    Slot& slot = *reinterpret_cast<Slot*>(device::sharedMemory());
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      writeSlot(slot, i);
      meet(mutant);
      static_cast<void>(readSlot(slot));
      if (!mutant.noSecondBarrier) device::syncBlock();
    }
  });
}

/// A thread that writes beyond the memory of its block.
void launchBeyond(Machine& machine) {
  machine.launch({.name = "rank 0", .threads = 1, .sharedBytes = 64},
                 [] { device::sharedMemory()[64] = std::byte{1}; });
}

/// Launches the kernel of that name; false if there is none.
bool launch(Machine& machine, const std::string& kernel, Mutant& mutant, Slot& slot) {
  mutant.relaxedPost = kernel == "relaxed_post";
  mutant.relaxedObserve = kernel == "relaxed_observe";
  mutant.noBarrierBeforePost = kernel == "no_barrier_before_post";
  mutant.noBarrierAfterObserve = kernel == "no_barrier_after_observe";
  mutant.noCredit = kernel == "no_credit";
  mutant.voteForBarrier = kernel == "vote_for_barrier" || kernel == "shared_without_barrier";
  mutant.noSecondBarrier = kernel == "shared_without_second_barrier";
  const bool any = mutant.relaxedPost || mutant.relaxedObserve || mutant.noBarrierBeforePost ||
                   mutant.noBarrierAfterObserve || mutant.noCredit || mutant.voteForBarrier;
  if (kernel == "shared" || kernel == "shared_without_barrier" || mutant.noSecondBarrier) {
    launchShared(machine, mutant);
  } else if (kernel == "two_launches") {
    launchTwo(machine, "rank 0", slot);
  } else if (kernel == "two_ranks") {
    launchTwo(machine, "rank 1", slot);
  } else if (kernel == "beyond_shared") {
    launchBeyond(machine);
  } else if (any || kernel == "correct") {
    launchPair(machine, mutant, slot);
  } else {
    return false;
  }
  return true;
}

int run(const std::string& kernel) {
  Mutant mutant;
  Slot slot;
  Machine machine;
  if (!launch(machine, kernel, mutant, slot)) {
    std::fprintf(stderr, "emulator_mutants: there is no kernel \"%s\"\n", kernel.c_str());
    return 2;
  }
  const Outcome outcome = machine.run();
  std::printf("%s\n", outcome.finished ? "finished" : outcome.report.c_str());
  return outcome.finished ? 0 : 1;
}

}  // namespace
}  // namespace rondo::emulator

int main(int argc, char** argv) {
  return rondo::emulator::run(argc == 2 ? argv[1] : "");
}
