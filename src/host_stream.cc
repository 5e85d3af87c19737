#include "src/host_stream.h"

#include <exception>
#include <new>
#include <utility>

#include "src/net/quiet_thread.h"

namespace rondo {

namespace {

/// The calls in a task turn their own lack of memory into a failure; this is for what is around.
Status runTask(StreamTask task) try {
  return std::visit([](auto& work) { return work.run(); }, task);

} catch (const std::bad_alloc&) {  // while planning

  return Status::outOfMemory("no memory for a call on a stream");

} catch (const std::exception& exception) {  // a fault of the library

  return Status::internal("a call on a stream: {}", exception.what());
}

}  // namespace

Result<std::unique_ptr<HostStream>> HostStream::start() {
  std::unique_ptr<HostStream> stream(new HostStream);
  Result<std::thread> worker =
      startQuietThread("rondo-stream", [self = stream.get()] { self->serve(); });
  RONDO_RETURN_IF_ERROR(worker.status());
  stream->worker_ = *std::move(worker);
  return stream;
}

HostStream::~HostStream() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    filled_.notify_one();
  }
  if (worker_.joinable()) worker_.join();
}

void HostStream::enqueue(StreamTask task) {
  const std::scoped_lock lock(mutex_);
  queue_.reserve();
  // Under the lock, so that tasks are in the queue as they are in the order of communicators: the
  // other way round the first would wait for the one behind it.
  std::visit([](auto& work) { work.issue(); }, task);
  queue_.push(std::move(task));
  ++issued_;
  filled_.notify_one();
}

Status HostStream::synchronize() {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = issued_;
  advanced_.wait(lock, [&] { return completed_ >= before; });
  return std::exchange(failure_, {});
}

Status HostStream::query() const {
  const std::scoped_lock lock(mutex_);
  if (completed_ == issued_) return failure_;
  return Status::inProgress("work on the stream goes on");
}

Status HostStream::takeOutcome() {
  const std::scoped_lock lock(mutex_);
  if (completed_ == issued_) return std::exchange(failure_, {});
  return Status::inProgress("work on the stream goes on");
}

void HostStream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    filled_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    StreamTask task = queue_.pop();
    lock.unlock();
    Status status = runTask(std::move(task));
    lock.lock();
    if (failure_.ok()) failure_ = std::move(status);
    ++completed_;
    advanced_.notify_all();
  }
}

}  // namespace rondo
