// What can be issued on a stream of the host: calls, and the marks of events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "src/group_calls.h"
#include "src/group_run.h"
#include "src/host_event.h"
#include "src/operation_order.h"
#include "src/status.h"

namespace rondo {

class Communicator;

/// A collective by itself.
class CollectiveTask {
 public:
  /// @param stream of the communicator's device, if it is on one
  CollectiveTask(Communicator& communicator,
                 const CollectiveCall& call,
                 rondoStream_t stream = nullptr);

  /// Gives the call its place in the communicator's order.
  void issue() { place_.issue(); }

  /// @errors those of the call
  Status run();

 private:
  Communicator* communicator_;  // alive while a turn is held
  IssuedPlace place_;
  QueuedCollective call_;
};

/// The parts of a group that are on one stream.
class GroupTask {
 public:
  explicit GroupTask(std::vector<GroupPart> parts);

  /// Gives each part its place in its communicator's order.
  void issue();

  /// @errors those of runGroup()
  Status run() { return runGroup(parts_); }

 private:
  std::vector<GroupPart> parts_;
};

/// Anything else that a communicator does, in a turn of some communicator or without one.
class InTurnTask {
 public:
  using Work = std::function<Status()>;
  using Refusal = std::function<void(const Status& why)>;

  /// @param refused called instead of `work` where the communicator of `place` is no more; may be
  ///   empty
  /// @param place   not issued yet
  InTurnTask(Work work, Refusal refused, std::optional<IssuedPlace> place)
      : work_(std::move(work)), refused_(std::move(refused)), place_(std::move(place)) {}

  void issue() {
    if (place_.has_value()) place_->issue();
  }

  /// @errors those of the work
  Status run();

 private:
  Work work_;
  Refusal refused_;
  std::optional<IssuedPlace> place_;
};

class MarkTask {
 public:
  explicit MarkTask(std::shared_ptr<HostEvent> event) : event_(std::move(event)) {}

  void issue() { mark_ = event_->put(); }

  Status run() {
    event_->pass(mark_);
    return {};
  }

 private:
  std::shared_ptr<HostEvent> event_;  // shared with its handle and other tasks
  HostEvent::Mark mark_ = 0;
};

/// Lets what follows wait for the mark that was put last when this was issued.
class WaitTask {
 public:
  explicit WaitTask(std::shared_ptr<HostEvent> event) : event_(std::move(event)) {}

  void issue() { mark_ = event_->latest(); }

  Status run() {
    event_->wait(mark_);
    return {};
  }

 private:
  std::shared_ptr<HostEvent> event_;  // shared with its handle and other tasks
  HostEvent::Mark mark_ = 0;
};

/// Issued once, by who puts it into a queue; run once, by the stream's thread.
using StreamTask = std::variant<CollectiveTask, GroupTask, InTurnTask, MarkTask, WaitTask>;

}  // namespace rondo
