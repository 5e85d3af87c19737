#include "tests/gpu_check/watchdog.h"

#include <unistd.h>

namespace rondo::gpucheck {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};

}  // namespace

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::set(Deadline deadline) {
  {
    const std::scoped_lock lock(mutex_);
    deadline_ = deadline;
    set_ = Deadline::Clock::now();
  }
  changed_.notify_all();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    (void)changed_.wait_until(lock, earlier(deadline_, Deadline::within(kBetweenLooks)).time());
    report_.refresh();
    if (ending_ || !deadline_.passed()) continue;
    report_.abandon(std::chrono::ceil<std::chrono::seconds>(Deadline::Clock::now() - set_));
    ::_exit(static_cast<int>(Verdict::kFailed));
  }
}

}  // namespace rondo::gpucheck
