// An emulated GPU, or several: runs kernels that are written against kernels/cuda/device.h on one
// OS thread, their threads taking turns. What it shows and what it cannot is in docs/testing.md.
//
//   Machine machine({.schedule = Schedule::kRandom, .seed = seed, .tearPacks = true});
//   for (Rank& rank : ranks)
//     machine.launch({.name = rank.name, .blocks = 2, .threads = 64, .sharedBytes = 1024},
//                    [&rank] { allReduceKernel(rank.arguments); });
//   const Outcome outcome = machine.run();
//   EXPECT_TRUE(outcome.finished) << outcome.report;
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::emulator {

/// Who of those who can run does so next, each time that somebody gives way.
enum class Schedule {
  /// All in turn. A thread gives way whenever it reads memory that others write. Fast.
  kRoundRobin,
  /// Anyone. A thread may give way before every access to memory that others read or write.
  kRandom,
};

/// How a machine runs what is launched.
struct Options {
  Schedule schedule = Schedule::kRoundRobin;
  /// Decides everything that is random. The same seed gives the same run.
  std::uint64_t seed = 1;
  /// kRandom: chance that a thread gives way at an access; at least 0.01.
  double switchChance = 0.5;
  /// The halves of a pack move one after the other, in any order, and others may run in between.
  /// Otherwise packs move whole.
  bool tearPacks = false;
  /// Wrong on purpose: the packs of a line that a warp places or peeks together move one by one.
  bool tearLines = false;
  /// Blocks that can run at a time, over all launches; others start, in the order of the launches,
  /// when one has ended. 0: any number.
  unsigned residentBlocks = 0;
  /// Other processes take part through shared memory: nothing is known of their progress, so only
  /// the deadline ends a run, and a machine whose threads all wait leaves its processor to others.
  bool external = false;
  /// A deadlock is when nobody has written, ended, or looked at other places than before, and only
  /// those who poll have met, for as many turns of each thread. 1000 turns of 1000 threads take
  /// 0.1 s.
  unsigned idleRounds = 1000;
  /// How long run() may take, in any mode; looked at every few thousand calls.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

/// One grid of blocks.
struct Launch {
  /// Who launches. Launches of the same name run one after the other, like those in a CUDA stream;
  /// those of different names at the same time.
  std::string name;
  /// What is launched; for reports only.
  std::string kernel = {};
  unsigned blocks = 1;
  unsigned threads = 32;
  /// What device::sharedMemory() is to hold.
  std::size_t sharedBytes = 0;
};

/// What happened during a run.
struct Statistics {
  std::uint64_t switches = 0;
  /// Calls that read memory which others write: observeCounter, peekPack, ...
  std::uint64_t loads = 0;
  /// Calls that write memory which others read: postCounter, placePack, ...
  std::uint64_t stores = 0;
  /// Completed meetings of blocks.
  std::uint64_t blockMeetings = 0;
  /// Completed meetings of warps.
  std::uint64_t warpMeetings = 0;
};

/// How a run ended.
struct Outcome {
  /// All threads of all launches have returned.
  bool finished = false;
  /// Otherwise: why not, with which seed, and what every thread that had not ended was doing.
  std::string report;
  Statistics statistics;
};

/// See the head of this file. Used by one OS thread.
class Machine {
 public:
  explicit Machine(const Options& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Queues a grid, each of whose threads is to call `kernel`. Nothing runs yet.
  void launch(Launch launch, std::function<void()> kernel);

  /// Gives memory a name for reports: "rank 0's credits + 8" instead of an address.
  void nameMemory(const void* memory, std::size_t bytes, std::string name);

  /// Runs everything that was launched since the last run, until it has ended or never will.
  Outcome run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rondo::emulator
