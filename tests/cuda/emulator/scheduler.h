// One run of a machine: starts blocks, lets their threads take turns, and notices when nobody gets
// on. Threads come in through the functions of device_calls.h.
//
// Threads switch to each other directly. Whatever allocates, or concerns more than one block, is
// done between their turns on the OS thread's own stack (Scheduler::run()).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/emulator/block.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/emulator/schedule.h"

namespace rondo::emulator {

struct Stream;

/// A launch and how far it is.
struct Grid {
  Launch launch;
  std::function<void()> kernel;
  Stream* stream = nullptr;
  /// How many launches came before it.
  std::size_t order = 0;
  /// Blocks that have started.
  unsigned started = 0;
  std::size_t endedThreads = 0;
  /// An address for ThreadSanitizer: what threads of this launch did before they ended.
  char endMark = 0;

  std::size_t allThreads() const { return std::size_t{launch.blocks} * launch.threads; }
};

/// The launches of one name, in their order.
struct Stream {
  std::string name;
  std::deque<Grid*> queue;
  /// Fibers of threads that have ended. They are used by later threads of this stream only: those
  /// run after them on a GPU, too, so that ThreadSanitizer may take both for one.
  std::vector<Fiber*> fibers;
  /// An address for ThreadSanitizer: what was done before the launch that is next or runs.
  char startMark = 0;
};

/// Why a run ended.
enum class Verdict {
  kFinished,
  kDeadlock,       ///< threads poll, and nobody writes
  kAllWait,        ///< threads wait for each other in meetings, or for places
  kDeadline,       ///< it took too long
  kWrongMeeting,   ///< threads met that were in different functions
  kMissedMeeting,  ///< a thread ended that others wait for
  kWrongLine,      ///< the packs of a line do not lie beside each other
};

/// See the head of this file.
class Scheduler {
 public:
  Scheduler(const Options& options, std::deque<Grid>& grids);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Runs all grids, and says how that ended.
  Verdict run();

  const Statistics& statistics() const { return statistics_; }

  /// For reports: the blocks that run, the streams with what they have not started, and the thread
  /// that noticed what the verdict says, if one did.
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  const std::deque<Stream>& streams() const { return streams_; }

  const Thread* culprit() const { return culprit_; }

  /// What is running on this OS thread.
  static Scheduler& active();

  const Options& options() const { return options_; }

  // For device_calls.cc, on the stack of a thread of a kernel; what is not explained here is there.

  const Thread& self() const { return *current_; }

  /// The caller's warp.
  Warp& warp() { return current_->block->warps[current_->index / device::kWarpThreads]; }

  RandomNumbers& random() { return random_; }

  void beforeLoad(Operation operation, const void* address);
  void beforeStore(Operation operation, const void* address);
  /// A point where others may run: in turn they do, at random perhaps.
  void mayGiveWay();

  bool meetBlock(Operation operation, bool mine);
  bool voteInWarp(bool mine);
  bool beginAccess(Operation operation, const device::Pack* place, const device::Pack& value);
  void endAccess();

 private:
  /// What the threads of kernels begin with: their life from the first turn to the last.
  static void threadMain();
  [[noreturn]] void liveAndEnd();
  void noteEnd(Thread& thread);

  void makeStreams(std::deque<Grid>& grids);
  /// The first launch that has blocks to start and no earlier one of its name; null if none.
  Grid* nextToStart();
  void startBlocks();
  void startBlock(Grid& grid);
  void startThread(Thread& thread);
  void removeEndedBlocks();
  void takeBack(Block& block);

  /// Lets another thread run, or the same if there is no other.
  void giveWay();
  /// Ends the run, or lets other processes run, if nobody gets on.
  void lookForProgress();
  /// Looks at the clock now and then, so that no loop over calls is for ever.
  void countCall();
  void lookAtClock();
  Thread* pick();
  /// Goes on with `next`, or with run() if it is null.
  void switchTo(Thread* next, Leaving leaving);
  [[noreturn]] void stop(Verdict verdict);

  /// Adds the caller to a meeting; true if all have come.
  bool arrive(Meeting& meeting, unsigned ended, Operation operation);
  /// The caller waits in the meeting, to which it was added, until it is released.
  void wait();
  void release(Meeting& meeting);
  void checkLines();

  const Options options_;
  /// A thread gives way where random 32 bits are less.
  const std::uint64_t switchBelow_;
  RandomNumbers random_;
  ReadyThreads ready_;
  Thread* current_ = nullptr;
  /// Turns since somebody got on.
  std::uint64_t idleTurns_ = 0;
  /// Calls since the clock was looked at.
  unsigned calls_ = 0;
  Statistics statistics_;
  Fiber main_;
  std::chrono::steady_clock::time_point end_;
  Verdict verdict_ = Verdict::kFinished;
  const Thread* culprit_ = nullptr;
  std::deque<Stream> streams_;
  std::vector<std::unique_ptr<Block>> blocks_;
  /// Threads of all blocks that run.
  std::size_t liveThreads_ = 0;
};

}  // namespace rondo::emulator
