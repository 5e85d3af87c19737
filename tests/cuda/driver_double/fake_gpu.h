// The objects behind the driver double's handles: streams and events.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::testing {

/// What runs on a stream.
using Work = std::function<void()>;

/// Runs what is queued, in order, in a thread of its own, which begins with the first: a process
/// that only has streams can still be forked.
class FakeStream {
 public:
  explicit FakeStream(int device);
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;
  FakeStream(FakeStream&&) = delete;
  FakeStream& operator=(FakeStream&&) = delete;

  int device() const { return device_; }

  void queue(Work work);
  void synchronize();
  void beginCapture();
  /// @return what was captured
  std::vector<Work> endCapture();
  bool capturing();
  void replay();

 private:
  void run();

  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queued_;
  bool running_ = false;
  bool capturing_ = false;
  bool ending_ = false;
  std::vector<Work> captured_;
  std::thread thread_;
};

/// Recorded any number of times, on any streams; who waits waits for the recording that was the
/// last when the wait was queued, whatever becomes of the event.
class FakeEvent {
 public:
  void record(FakeStream& stream);
  bool done();
  /// Queues on `stream` that it waits for the last recording.
  void awaitOn(FakeStream& stream);

 private:
  struct Recording {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
  };

  std::shared_ptr<Recording> last();

  std::mutex mutex_;
  std::shared_ptr<Recording> last_;  // null: never recorded
};

}  // namespace rondo::testing
