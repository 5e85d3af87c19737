// A block of emulated threads: its warps, its memory, and the places where its threads meet. Plain
// records; what happens to them is in scheduler.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/operation.h"

namespace rondo::emulator {

struct Block;
struct Grid;

/// A thread of a kernel.
struct Thread {
  Fiber* fiber = nullptr;
  Block* block = nullptr;
  unsigned index = 0;
  bool ended = false;
  /// In a meeting that is not complete.
  bool waiting = false;
  /// What it is in, or was in last, and on what memory.
  Operation operation = Operation::kNone;
  const void* address = nullptr;
  /// Its place among the ready threads.
  std::size_t readyAt = 0;
  /// Where it looked last; whether its last access to memory of others was to look there again. If
  /// so it polls, and gets on only if others do.
  std::array<const void*, 8> lookedAt{};
  unsigned oldestLook = 0;
  bool polls = false;
};

/// A place where some threads wait until all of them have come. They come again only after all have
/// left, as each of them is needed.
struct Meeting {
  /// Threads that must come: all of a block, or of a warp.
  unsigned members = 0;
  /// Threads that came and wait: the first `count` of as many as there are members.
  std::vector<Thread*> arrived;
  unsigned count = 0;
  /// Written by the first to come: all must have come for the same.
  Operation operation = Operation::kNone;
  /// Whether any brought true this time, and the last time that all had come.
  bool any = false;
  bool anyOfAll = false;
  /// How often all had come.
  std::uint64_t times = 0;
  /// Addresses for ThreadSanitizer: what the members did before they came. There are two, in turn:
  /// a member may come for the next time before another has left, which then must not take what
  /// was done in between for done before.
  std::array<char, 2> marks{};
};

/// What the threads of a warp brought to, and take from, an access that they make together.
struct Warp {
  Meeting meeting;
  unsigned ended = 0;
  std::array<device::Pack, device::kWarpThreads> values;
  std::array<const device::Pack*, device::kWarpThreads> places{};
};

/// A block that runs.
struct Block {
  Block(Grid& grid, unsigned index, unsigned threads, std::size_t sharedBytes);

  Grid& grid;
  const unsigned index;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Meeting all;
  unsigned ended = 0;
  /// Memory of the block, filled with kPoison at first.
  std::vector<device::Pack> shared;

  /// What memory that nobody has written holds, so that no kernel comes to rely on zeros.
  static constexpr std::uint64_t kPoison = 0xA5A5A5A5A5A5A5A5u;
};

}  // namespace rondo::emulator
