#include "src/train/completion_thread.h"

#include <algorithm>
#include <utility>

namespace rondo::train {

CompletionThread::CompletionThread() : thread_([this] { serve(); }) {}

CompletionThread::~CompletionThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CompletionThread::add(const Event& event, std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back({&event, std::move(then), Clock::now()});
  }
  wake_.notify_all();
}

void CompletionThread::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return items_.empty(); });
}

std::chrono::nanoseconds CompletionThread::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void CompletionThread::serve() {
  Clock::time_point lastEnd{};
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !items_.empty(); });
    if (items_.empty()) return;
    const Item& item = items_.front();  // stays where it is while others are added
    lock.unlock();
    static_cast<void>(rondoEventSynchronize(item.event->handle()));
    const Clock::time_point end = Clock::now();
    item.then();
    lock.lock();
    busy_ += end - std::max(item.issued, lastEnd);
    lastEnd = end;
    items_.pop_front();
    if (items_.empty()) drained_.notify_all();
  }
}

}  // namespace rondo::train
