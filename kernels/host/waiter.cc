#include "kernels/host/waiter.h"

#include <algorithm>

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
    sleepOrPrepare(now);
  }
  return WaitResult::kContinue;
}

void Waiter::sleepOrPrepare(Clock::time_point now) {
  if (!announced_) {
    announced_ = true;
    place_->prepareSleep();
    return;
  }
  announced_ = false;
  const auto untilCheck = std::chrono::ceil<std::chrono::microseconds>(nextCheck_ - now);
  place_->sleep(std::min(untilCheck, policy_.longestSleep));
}

std::chrono::milliseconds Waiter::waited() const {
  if (rounds_ <= policy_.spinPolls) return std::chrono::milliseconds{0};
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_);
}

}  // namespace rondo::host
