#include "src/cuda/pump.h"

#include <chrono>
#include <utility>

#include "src/net/quiet_thread.h"

namespace rondo::cuda {

namespace {

/// Looks in a row that find nothing to move before the pump takes naps: some 20 us.
constexpr int kBusyLooks = 200;

/// What a slot that comes during a nap waits at most.
constexpr std::chrono::microseconds kNap{50};

}  // namespace

Pump::Pump(int rank, std::shared_ptr<RankGroup> group, std::function<bool()> working)
    : place_(group->waitPlace(rank)), group_(std::move(group)), working_(std::move(working)) {}

Pump::~Pump() {
  stop();
}

Status Pump::start() {
  if (thread_.joinable()) return {};
  Result<std::thread> thread = startQuietThread("rondo-pump", [this] { run(); });
  RONDO_RETURN_IF_ERROR(thread.status());
  thread_ = *std::move(thread);
  return {};
}

void Pump::wake() {
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Pump::flush(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return true;
  // What the current look has passed already it may have missed.
  const std::uint64_t wanted = looks_ + 1;
  const auto over = [&] { return ending_ || flushedLook_ >= wanted; };
  woken_ = true;
  changed_.notify_all();
  if (deadline.never()) {
    changed_.wait(lock, over);
    return true;
  }
  return changed_.wait_until(lock, deadline.time(), over);
}

void Pump::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Pump::run() {
  bool needed = false;
  int idleLooks = 0;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!needed) changed_.wait(lock, [this] { return ending_ || woken_; });
    changed_.wait(lock, [this] { return ending_ || halts_ == 0; });
    if (ending_) return;
    woken_ = false;
    // Asked before the look, which then finds whatever the last kernel has left.
    const bool working = working_();
    moving_ = true;
    const std::uint64_t look = ++looks_;
    lock.unlock();
    const bool moved = place_.progress();
    const bool flushed = place_.flushed();
    lock.lock();
    moving_ = false;
    if (flushed) flushedLook_ = look;
    changed_.notify_all();
    needed = working || moved || !flushed || woken_;
    idleLooks = moved ? 0 : idleLooks + 1;
    if (idleLooks > kBusyLooks) changed_.wait_for(lock, kNap, [this] { return ending_; });
  }
}

Pump::Halt::Halt(Pump& pump) : pump_(pump) {
  std::unique_lock lock(pump_.mutex_);
  ++pump_.halts_;
  pump_.changed_.wait(lock, [this] { return !pump_.moving_ && !pump_.halted_; });
  pump_.halted_ = true;
}

Pump::Halt::~Halt() {
  {
    const std::scoped_lock lock(pump_.mutex_);
    --pump_.halts_;
    pump_.halted_ = false;
  }
  pump_.changed_.notify_all();
}

}  // namespace rondo::cuda
