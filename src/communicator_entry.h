// What a communicator's handle stands for: a communicator, perhaps one that is still being made,
// and the thread that carries its calls out where these do not wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "src/communicator.h"
#include "src/fork_mark.h"
#include "src/host_stream.h"
#include "src/operation_order.h"
#include "src/status.h"

namespace rondo {

/// Raised when nobody wants a communicator any more that is being made; see Config::givenUp.
using GivenUpFlag = std::shared_ptr<std::uint32_t>;

/// @threads any, but the destructor
class CommunicatorEntry {
 public:
  /// Makes a communicator; waits for other ranks.
  using Maker = std::function<Result<std::unique_ptr<Communicator>>()>;

  /// One whose calls wait.
  explicit CommunicatorEntry(std::unique_ptr<Communicator> communicator);

  /// One whose calls do not wait.
  /// @errors SystemError (no thread)
  static Result<std::unique_ptr<CommunicatorEntry>> withWorker(
      std::unique_ptr<Communicator> communicator);

  /// The same, of a communicator that is made by the entry's thread.
  /// @param givenUp raised to have `maker` end early
  /// @param place   where that is an operation of another communicator: its place there, not issued
  ///   yet; `maker` is then called in that turn
  /// @errors SystemError (no thread)
  static Result<std::unique_ptr<CommunicatorEntry>> making(Maker maker,
                                                           GivenUpFlag givenUp,
                                                           std::optional<IssuedPlace> place);

  /// Waits for all that is in progress, unless the communicator has failed; ends its making.
  ~CommunicatorEntry();
  CommunicatorEntry(const CommunicatorEntry&) = delete;
  CommunicatorEntry& operator=(const CommunicatorEntry&) = delete;

  /// Null while it is being made, and if that failed.
  Communicator* communicator() {
    return host::observeCounter(state_) == kMade ? communicator_.get() : nullptr;
  }

  /// Why there is none.
  /// @errors InProgress, Aborted, those of the maker
  Status whyNone();

  /// Ends the making, or the communicator on all ranks.
  void abort();

  /// @errors InProgress; the failure that ended the communicator, or kept it from being made; once
  ///   the first failure of a call that was in progress
  Status asyncError();

  /// Waits for what is in progress. @errors as asyncError()
  Status synchronize();

  /// False in a process that was forked off since.
  bool inOwnProcess() const { return forkMark_.inOwnProcess(); }

 private:
  enum State : std::uint64_t { kMaking, kMade, kFailed };

  CommunicatorEntry() = default;

  Status startWorker();
  Status publish(Result<std::unique_ptr<Communicator>> made);
  /// The failure that concerns more than a call, if there is one.
  Status lastingFailure();

  const ForkMark forkMark_;
  std::uint64_t state_ = kMaking;
  std::mutex mutex_;  // guards the end of making
  GivenUpFlag givenUp_ = std::make_shared<std::uint32_t>(0);
  Status failure_;  // of making; written before state_
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<HostStream> worker_;  // null: calls wait
};

}  // namespace rondo
