#include "kernels/host/waiter.h"

#include <thread>

#include <sched.h>

#include "kernels/memory_order.h"

namespace rondo::host {

WaitResult Waiter::pause() {
  if (flagRaised(*abortFlag_)) return WaitResult::kAborted;
  if (rounds_++ < policy_.spinPolls) {
    relaxCpu();
    return WaitResult::kContinue;
  }
  return giveWay();
}

WaitResult Waiter::giveWay() {
  const std::int64_t given = rounds_ - policy_.spinPolls;
  const Clock::time_point now = Clock::now();
  if (given == 1) {
    since_ = now;
    nextCheck_ = now + policy_.firstCheck;
  }
  if (now >= nextCheck_) {
    nextCheck_ = now + policy_.checkEvery;
    return WaitResult::kCheckPeers;
  }
  if (given < policy_.yields) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(policy_.nap);
  }
  return WaitResult::kContinue;
}

std::chrono::milliseconds Waiter::waited() const {
  if (rounds_ <= policy_.spinPolls) return std::chrono::milliseconds{0};
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_);
}

}  // namespace rondo::host
