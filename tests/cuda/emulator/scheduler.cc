#include "tests/cuda/emulator/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sched.h>

#include "tests/cuda/emulator/sanitizers.h"

namespace rondo::emulator {
namespace {

/// Calls between two looks at the clock: a look costs as much as several calls.
constexpr unsigned kCallsPerLook = 4096;

/// What runs on this OS thread. Kernels reach the emulator through free functions, as on a GPU.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Scheduler* activeScheduler = nullptr;

/// A chance in units of 2^-32.
std::uint64_t switchesBelow(double chance) {
  constexpr double kAll = 4294967296.0;
  constexpr double kLeast = 0.01;
  return static_cast<std::uint64_t>(std::clamp(chance, kLeast, 1.0) * kAll);
}

}  // namespace

Scheduler& Scheduler::active() {
  if (activeScheduler == nullptr) {
    std::fputs("a function of kernels/cuda/device.h was called by no thread of a kernel\n", stderr);
    std::abort();
  }
  return *activeScheduler;
}

Scheduler::Scheduler(const Options& options, std::deque<Grid>& grids)
    : options_(options), switchBelow_(switchesBelow(options.switchChance)), random_(options.seed) {
  makeStreams(grids);
}

Scheduler::~Scheduler() {
  for (const auto& block : blocks_) {
    for (const Thread& thread : block->threads)
      FiberPool::abandon(thread.fiber);
  }
  for (Stream& stream : streams_) {
    for (Fiber* fiber : stream.fibers)
      FiberPool::ofThisThread().give(fiber);
  }
}

void Scheduler::makeStreams(std::deque<Grid>& grids) {
  std::size_t launches = 0;
  for (Grid& grid : grids) {
    grid.order = launches++;
    auto stream = std::find_if(streams_.begin(), streams_.end(), [&grid](const Stream& each) {
      return each.name == grid.launch.name;
    });
    if (stream == streams_.end()) {
      stream = streams_.emplace(streams_.end());
      stream->name = grid.launch.name;
    }
    grid.stream = &*stream;
    if (grid.allThreads() > 0) stream->queue.push_back(&grid);
  }
}

Verdict Scheduler::run() {
  adoptCurrent(main_);
  end_ = std::chrono::steady_clock::now() + options_.deadline;
  Scheduler* const outer = activeScheduler;
  activeScheduler = this;
  for (Stream& stream : streams_)
    sanitizers::release(&stream.startMark);
  {
    const sanitizers::Unwatched housekeeping;
    while (verdict_ == Verdict::kFinished) {
      removeEndedBlocks();
      startBlocks();
      if (liveThreads_ == 0) break;
      if (ready_.size() == 0) {
        verdict_ = Verdict::kAllWait;
      } else {
        switchTo(pick(), Leaving::kComesBack);
      }
    }
  }
  // What the threads did is over, also if they did not come to an end.
  for (const auto& block : blocks_) {
    for (const Thread& thread : block->threads)
      sanitizers::releaseFor(thread.fiber->tsanFiber, main_.tsanFiber, &main_);
  }
  sanitizers::acquire(&main_);
  for (Stream& stream : streams_) {
    sanitizers::acquire(&stream.startMark);
    if (!stream.queue.empty()) sanitizers::acquire(&stream.queue.front()->endMark);
  }
  activeScheduler = outer;
  return verdict_;
}

// Blocks and threads, from beginning to end.

Grid* Scheduler::nextToStart() {
  Grid* next = nullptr;
  for (Stream& stream : streams_) {
    if (stream.queue.empty()) continue;
    Grid* const grid = stream.queue.front();
    if (grid->started == grid->launch.blocks) continue;
    if (next == nullptr || grid->order < next->order) next = grid;
  }
  return next;
}

void Scheduler::startBlocks() {
  const std::size_t places = options_.residentBlocks == 0 ? SIZE_MAX : options_.residentBlocks;
  while (blocks_.size() < places) {
    Grid* const grid = nextToStart();
    if (grid == nullptr) return;
    startBlock(*grid);
  }
}

void Scheduler::startBlock(Grid& grid) {
  const Launch& launch = grid.launch;
  liveThreads_ += launch.threads;
  ready_.reserve(liveThreads_);
  blocks_.push_back(
      std::make_unique<Block>(grid, grid.started++, launch.threads, launch.sharedBytes));
  for (Thread& thread : blocks_.back()->threads)
    startThread(thread);
  idleTurns_ = 0;
}

void Scheduler::startThread(Thread& thread) {
  std::vector<Fiber*>& fibers = thread.block->grid.stream->fibers;
  if (fibers.empty()) {
    thread.fiber = FiberPool::ofThisThread().take();
  } else {
    thread.fiber = fibers.back();
    fibers.pop_back();
  }
  prepare(*thread.fiber, threadMain);
  ready_.add(&thread);
}

void Scheduler::threadMain() {
  enterFiber();
  active().liveAndEnd();
}

void Scheduler::liveAndEnd() {
  Thread& thread = *current_;
  Grid& grid = thread.block->grid;
  sanitizers::acquire(&grid.stream->startMark);
  grid.kernel();
  sanitizers::release(&grid.endMark);
  if (++grid.endedThreads == grid.allThreads()) {
    sanitizers::acquire(&grid.endMark);
    sanitizers::release(&grid.stream->startMark);
  }
  noteEnd(thread);
  const bool lastOfBlock = thread.block->ended == thread.block->threads.size();
  switchTo(lastOfBlock || ready_.size() == 0 ? nullptr : pick(), Leaving::kForEver);
  std::abort();  // not reached
}

void Scheduler::noteEnd(Thread& thread) {
  Block& block = *thread.block;
  if (block.all.count != 0 || warp().meeting.count != 0) stop(Verdict::kMissedMeeting);
  thread.ended = true;
  ++block.ended;
  ++warp().ended;
  ready_.remove(&thread);
  idleTurns_ = 0;
}

void Scheduler::removeEndedBlocks() {
  const auto ended = [this](const std::unique_ptr<Block>& block) {
    if (block->ended != block->threads.size()) return false;
    takeBack(*block);
    return true;
  };
  blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(), ended), blocks_.end());
}

void Scheduler::takeBack(Block& block) {
  Stream& stream = *block.grid.stream;
  liveThreads_ -= block.threads.size();
  for (const Thread& thread : block.threads)
    stream.fibers.push_back(thread.fiber);
  if (block.grid.endedThreads == block.grid.allThreads()) stream.queue.pop_front();
}

// Turns.

void Scheduler::switchTo(Thread* next, Leaving leaving) {
  Fiber& from = current_ == nullptr ? main_ : *current_->fiber;
  Fiber& to = next == nullptr ? main_ : *next->fiber;
  ++statistics_.switches;
  current_ = next;
  switchFiber(from, to, leaving);
}

Thread* Scheduler::pick() {
  return options_.schedule == Schedule::kRoundRobin ? ready_.inTurn() : ready_.any(random_);
}

void Scheduler::giveWay() {
  countCall();
  if (++idleTurns_ > ready_.size()) lookForProgress();
  Thread* const next = pick();
  if (next != current_) switchTo(next, Leaving::kComesBack);
}

void Scheduler::mayGiveWay() {
  if (options_.schedule == Schedule::kRoundRobin || random_.next() < switchBelow_) giveWay();
}

void Scheduler::lookForProgress() {
  if (options_.external) {
    idleTurns_ = 0;
    lookAtClock();
    sched_yield();
    return;
  }
  if (idleTurns_ > options_.idleRounds * liveThreads_) stop(Verdict::kDeadlock);
}

void Scheduler::countCall() {
  if (++calls_ >= kCallsPerLook) lookAtClock();
}

void Scheduler::lookAtClock() {
  calls_ = 0;
  if (std::chrono::steady_clock::now() > end_) stop(Verdict::kDeadline);
}

void Scheduler::stop(Verdict verdict) {
  verdict_ = verdict;
  culprit_ = current_;
  switchTo(nullptr, Leaving::kComesBack);
  std::abort();  // not reached: nobody switches back
}

// Memory.

namespace {

/// Notes where a thread looks; whether it looked there lately.
bool looksAgain(Thread& thread, const void* address) {
  for (const void* place : thread.lookedAt) {
    if (place == address) return true;
  }
  thread.lookedAt[thread.oldestLook] = address;
  thread.oldestLook = (thread.oldestLook + 1) % static_cast<unsigned>(thread.lookedAt.size());
  return false;
}

void note(Thread& thread, Operation operation, const void* address) {
  thread.operation = operation;
  thread.address = address;
}

}  // namespace

void Scheduler::beforeLoad(Operation operation, const void* address) {
  ++statistics_.loads;
  note(*current_, operation, address);
  current_->polls = looksAgain(*current_, address);
  if (!current_->polls) idleTurns_ = 0;
  mayGiveWay();
}

void Scheduler::beforeStore(Operation operation, const void* address) {
  ++statistics_.stores;
  note(*current_, operation, address);
  if (options_.schedule == Schedule::kRandom) {
    mayGiveWay();
  } else {
    countCall();
  }
  current_->polls = false;
  idleTurns_ = 0;
}

// Meetings.

bool Scheduler::meetBlock(Operation operation, bool mine) {
  Block& block = *current_->block;
  note(*current_, operation, nullptr);
  char* const mark = &block.all.marks[block.all.times % block.all.marks.size()];
  sanitizers::release(mark);
  const bool last = arrive(block.all, block.ended, operation);
  block.all.any |= mine;
  if (last) {
    ++statistics_.blockMeetings;
    release(block.all);
  } else {
    wait();
  }
  sanitizers::acquire(mark);
  return block.all.anyOfAll;
}

bool Scheduler::voteInWarp(bool mine) {
  Warp& itsWarp = warp();
  note(*current_, Operation::kAnyInWarp, nullptr);
  const bool last = arrive(itsWarp.meeting, itsWarp.ended, Operation::kAnyInWarp);
  itsWarp.meeting.any |= mine;
  if (last) {
    ++statistics_.warpMeetings;
    release(itsWarp.meeting);
  } else {
    wait();
  }
  return itsWarp.meeting.anyOfAll;
}

bool Scheduler::beginAccess(Operation operation,
                            const device::Pack* place,
                            const device::Pack& value) {
  Warp& itsWarp = warp();
  const unsigned lane = current_->index % device::kWarpThreads;
  note(*current_, operation, place);
  itsWarp.places[lane] = place;
  itsWarp.values[lane] = value;
  if (!arrive(itsWarp.meeting, itsWarp.ended, operation)) {
    wait();
    return false;
  }
  checkLines();
  return true;
}

void Scheduler::endAccess() {
  ++statistics_.warpMeetings;
  release(warp().meeting);
}

void Scheduler::checkLines() {
  constexpr std::size_t kLineThreads = 8;
  constexpr std::uintptr_t kLineBytes = kLineThreads * sizeof(device::Pack);
  const Warp& itsWarp = warp();
  for (std::size_t lane = 0; lane < itsWarp.meeting.members; ++lane) {
    const device::Pack* const line = itsWarp.places[lane / kLineThreads * kLineThreads];
    const bool aligned = reinterpret_cast<std::uintptr_t>(line) % kLineBytes == 0;
    const device::Pack* const expected = line == nullptr ? nullptr : line + lane % kLineThreads;
    if (!aligned || itsWarp.places[lane] != expected) stop(Verdict::kWrongLine);
  }
}

bool Scheduler::arrive(Meeting& meeting, unsigned ended, Operation operation) {
  countCall();
  if (ended != 0) stop(Verdict::kMissedMeeting);
  if (meeting.count == 0) {
    meeting.operation = operation;
    meeting.any = false;
  } else if (meeting.operation != operation) {
    stop(Verdict::kWrongMeeting);
  }
  meeting.arrived[meeting.count++] = current_;
  return meeting.count == meeting.members;
}

void Scheduler::wait() {
  current_->waiting = true;
  ready_.remove(current_);
  ++idleTurns_;
  switchTo(ready_.size() == 0 ? nullptr : pick(), Leaving::kComesBack);
}

void Scheduler::release(Meeting& meeting) {
  // A vote on what the members see while they poll is no progress.
  bool polls = false;
  for (unsigned i = 0; i < meeting.count; ++i) {
    Thread* const thread = meeting.arrived[i];
    polls |= thread->polls;
    if (!thread->waiting) continue;  // the caller
    thread->waiting = false;
    ready_.add(thread);
  }
  meeting.count = 0;
  ++meeting.times;
  meeting.anyOfAll = meeting.any;
  if (!polls) idleTurns_ = 0;
}

}  // namespace rondo::emulator
