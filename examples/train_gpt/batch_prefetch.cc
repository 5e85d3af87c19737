#include "examples/train_gpt/batch_prefetch.h"

#include <string>
#include <utility>

#include "rondo/rondo.hpp"

namespace rondo::train {

BatchPrefetch::BatchPrefetch(Source source, std::uint64_t count)
    : source_(std::move(source)), count_(count), thread_([this] { make(); }) {}

BatchPrefetch::~BatchPrefetch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

TokenBatch BatchPrefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !ready_.empty(); });
  if (ready_.empty()) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    throw Error(rondoInvalidUsage, "all " + std::to_string(count_) + " batches were used");
  }
  TokenBatch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void BatchPrefetch::make() {
  std::exception_ptr failure;
  for (std::uint64_t number = 0; number < count_ && failure == nullptr; ++number) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || ready_.size() < kAhead; });
      if (stopping_) break;
    }
    try {
      TokenBatch batch = source_(number);
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(batch));
    } catch (...) {
      failure = std::current_exception();
    }
    changed_.notify_all();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
  }
  changed_.notify_all();
}

}  // namespace rondo::train
