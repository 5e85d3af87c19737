// Batches that are prepared while the model computes with those before them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "examples/train_gpt/gpt.h"

namespace rondo::train {

/// A thread that makes batches in their order, a few ahead of the one that is used. Batches depend
/// on their number alone, so they are the same as without it; and what was made ahead and not
/// used is nobody's business: where a training stands, it knows from what it took.
/// @threads next(): one at a time
class BatchPrefetch {
 public:
  using Source = std::function<TokenBatch(std::uint64_t number)>;

  /// Batches that wait to be used, at most. One is ready while the next is made; more would help
  /// only if the time to make one varied by more than a step.
  static constexpr std::size_t kAhead = 2;

  /// @param source makes batch 0, 1, ... `count` - 1, in this order, in the thread. Each call has
  /// to
  ///   come to an end by itself; what it throws is next()'s error, and the last call.
  explicit BatchPrefetch(Source source, std::uint64_t count);
  /// Waits for the batch that is being made, and no other.
  ~BatchPrefetch();
  BatchPrefetch(const BatchPrefetch&) = delete;
  BatchPrefetch& operator=(const BatchPrefetch&) = delete;

  /// The next batch; waits until it is made.
  /// @errors thrown: what the source threw, once the batches before are used, and from then on.
  ///   InvalidUsage: all were used.
  TokenBatch next();

 private:
  void make();

  const Source source_;
  const std::uint64_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TokenBatch> ready_;  // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  bool ended_ = false;            // guarded by mutex_; no batch will follow those in ready_
  std::exception_ptr failure_;    // guarded by mutex_
  std::thread thread_;            // last: it uses all others
};

}  // namespace rondo::train
