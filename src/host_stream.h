// A stream on host memory: a queue of calls and event marks that are carried out one after another,
// in the order in which they were issued, by a thread of the stream's own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "src/fork_mark.h"
#include "src/status.h"
#include "src/stream_task.h"
#include "src/task_queue.h"

namespace rondo {

/// @threads any, but the destructor
class HostStream {
 public:
  /// @errors SystemError (no thread)
  static Result<std::unique_ptr<HostStream>> start();

  /// Waits for all that was issued.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Puts `task` behind all that was issued before, and gives it its places. Waits for nobody.
  void enqueue(StreamTask task);

  /// Returns when all that was issued before is complete.
  /// @errors the first failure on the stream that was not told before
  Status synchronize();

  /// What synchronize() would come to now, without waiting and without forgetting a failure.
  /// @errors InProgress (something is not complete), the first failure that was not told
  Status query() const;

  /// The same, but a failure is told once.
  Status takeOutcome();

  /// False in a process that was forked off since: the thread is its parent's.
  bool inOwnProcess() const { return forkMark_.inOwnProcess(); }

 private:
  HostStream() = default;

  void serve();

  const ForkMark forkMark_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable filled_;
  std::condition_variable advanced_;
  TaskQueue<StreamTask> queue_;
  std::uint64_t issued_ = 0;     // tasks so far
  std::uint64_t completed_ = 0;  // of these
  Status failure_;               // the first that was not told
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace rondo
