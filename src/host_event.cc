#include "src/host_event.h"

#include <algorithm>

namespace rondo {

HostEvent::Mark HostEvent::put() {
  const std::scoped_lock lock(mutex_);
  return ++put_;
}

HostEvent::Mark HostEvent::latest() const {
  const std::scoped_lock lock(mutex_);
  return put_;
}

void HostEvent::pass(Mark mark) {
  const std::scoped_lock lock(mutex_);
  passed_ = std::max(passed_, mark);
  changed_.notify_all();
}

bool HostEvent::passed(Mark mark) const {
  const std::scoped_lock lock(mutex_);
  return passed_ >= mark;
}

void HostEvent::wait(Mark mark) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return passed_ >= mark; });
}

}  // namespace rondo
