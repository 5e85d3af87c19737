#include "tests/cuda/driver_double/fake_gpu.h"

#include <utility>

namespace rondo::testing {

FakeStream::FakeStream(int device) : device_(device) {}

FakeStream::~FakeStream() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FakeStream::queue(Work work) {
  {
    const std::scoped_lock lock(mutex_);
    if (capturing_) {
      captured_.push_back(std::move(work));
      return;
    }
    queued_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void FakeStream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queued_.empty() && !running_; });
}

void FakeStream::beginCapture() {
  const std::scoped_lock lock(mutex_);
  capturing_ = true;
  captured_.clear();
}

std::vector<Work> FakeStream::endCapture() {
  const std::scoped_lock lock(mutex_);
  capturing_ = false;
  return captured_;
}

bool FakeStream::capturing() {
  const std::scoped_lock lock(mutex_);
  return capturing_;
}

void FakeStream::replay() {
  for (const Work& work : captured_)
    queue(work);
}

void FakeStream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !queued_.empty(); });
    if (queued_.empty()) return;
    const Work work = std::move(queued_.front());
    queued_.pop_front();
    running_ = true;
    lock.unlock();
    work();
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

void FakeEvent::record(FakeStream& stream) {
  const auto recording = std::make_shared<Recording>();
  {
    const std::scoped_lock lock(mutex_);
    last_ = recording;
  }
  stream.queue([recording] {
    {
      const std::scoped_lock lock(recording->mutex);
      recording->reached = true;
    }
    recording->changed.notify_all();
  });
}

std::shared_ptr<FakeEvent::Recording> FakeEvent::last() {
  const std::scoped_lock lock(mutex_);
  return last_;
}

bool FakeEvent::done() {
  const auto recording = last();
  if (recording == nullptr) return true;
  const std::scoped_lock lock(recording->mutex);
  return recording->reached;
}

void FakeEvent::awaitOn(FakeStream& stream) {
  const auto recording = last();
  if (recording == nullptr) return;
  stream.queue([recording] {
    std::unique_lock lock(recording->mutex);
    recording->changed.wait(lock, [&] { return recording->reached; });
  });
}

}  // namespace rondo::testing
