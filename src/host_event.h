// A mark that is put into a stream and passed when all that was issued there before is complete.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "src/fork_mark.h"

namespace rondo {

/// Counts its marks: each one put into a stream is the next. Shared by its handle and by what is
/// issued on streams, so that the handle may be given up at any time.
/// @threads any
class HostEvent {
 public:
  using Mark = std::uint64_t;

  /// The next mark, which pass() must follow; who waits from now on waits for it.
  Mark put();

  /// The mark that was put last; 0: none, which has been passed.
  Mark latest() const;

  /// All that was issued before `mark` is complete.
  void pass(Mark mark);

  bool passed(Mark mark) const;

  /// Returns once `mark` is passed: as soon as the operations before it have ended, for each of
  /// which there is a time-out.
  void wait(Mark mark);

  /// False in a process that was forked off since: streams are its parent's.
  bool inOwnProcess() const { return forkMark_.inOwnProcess(); }

 private:
  const ForkMark forkMark_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mark put_ = 0;
  Mark passed_ = 0;  // the highest: marks put into several streams may be passed out of order
};

}  // namespace rondo
