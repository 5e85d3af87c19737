// Waits for operations on a stream in the order in which they were issued, notes when each ended,
// and does what follows at once, while the program computes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "rondo/rondo.hpp"

namespace rondo::train {

/// @threads add() and drain(): one thread at a time.
class CompletionThread {
 public:
  using Clock = std::chrono::steady_clock;

  CompletionThread();
  /// Waits for what was added.
  ~CompletionThread();
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  /// @param event recorded behind an operation that was issued now; not recorded again before it is
  ///   complete
  /// @param then  run by the thread when it is complete, whether it succeeded or not
  void add(const Event& event, std::function<void()> then);

  /// Returns when all that was added is complete and followed up.
  void drain();

  /// Time during which an operation that was added was under way.
  std::chrono::nanoseconds busy() const;

 private:
  struct Item {
    const Event* event;
    std::function<void()> then;
    Clock::time_point issued;
  };

  void serve();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::deque<Item> items_;            // guarded by mutex_; the first is being waited for
  std::chrono::nanoseconds busy_{0};  // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;                // last: it uses all others
};

}  // namespace rondo::train
