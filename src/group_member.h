// What one rank does in a group: its messages, and its collectives one after another, all moved on
// a step at a time, so that one thread can drive several ranks (src/group_run.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/host/executor.h"
#include "kernels/host/waiter.h"
#include "src/communicator.h"
#include "src/error_feedback.h"
#include "src/group_calls.h"
#include "src/message_operation.h"
#include "src/operation_order.h"
#include "src/status.h"

namespace rondo {

/// Has the communicator for as long as it lives. @threads one
class GroupMember {
 public:
  /// @param communicator on host memory, but for messages that prepare those of a device
  /// @param calls        must outlive this object
  /// @param turn         its; nothing if the caller has it
  GroupMember(Communicator& communicator,
              const GroupCalls& calls,
              std::optional<OperationOrder::Turn> turn);
  /// If what it does has failed, waits until nobody reads the callers' buffers.
  ~GroupMember();
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;
  GroupMember(GroupMember&&) = delete;
  GroupMember& operator=(GroupMember&&) = delete;

  /// Prepares what needs no other rank; nothing is sent before all members of a group could.
  /// @errors as Communicator::run()
  Status begin();

  /// Does what can be done without waiting.
  /// @return whether something moved
  /// @errors the communicator's failure
  Result<bool> step();

  bool done() const { return done_; }

  /// To be called now and then while nothing moves: looks whether the ranks that are waited for
  /// can still come, and how long that has taken.
  /// @errors the communicator's failure
  Status check(const host::Waiter& waiter);

  /// Tells ranks that wait for this member's collectives that nothing of the group was begun.
  void reject(const Status& reason);

  /// Ends the communicator on all ranks, unless this member is done.
  void giveUp(const Status& reason);

  host::WaitPlace& place() const { return communicator_->group_->waitPlace(communicator_->rank_); }

  const host::WaitPolicy& policy() const { return communicator_->waitPolicy_; }

 private:
  Status beginNextCollective();
  Result<bool> stepCollectives();
  Result<bool> stepMessages();
  Status checkCollective(const host::Waiter& waiter);
  Status checkMessages(const host::Waiter& waiter);
  Status checkSender(const host::MessageLane::Wait& wait);
  Status checkRefusal(const host::MessageLane::Wait& wait);
  Status failedMatch(const host::MessageLane::Wait& wait);
  /// The messages that are spoken of, and how they wait.
  const MessageList& spokenOf() const;
  host::MessageLane::Wait spokenOf(const host::MessageLane::Wait& wait) const;

  bool messagesWait() const { return messages_ != nullptr && !messagesDone_; }

  Communicator* communicator_;
  std::optional<OperationOrder::Turn> turn_;
  const GroupCalls* calls_;
  MessageOperation* messages_ = nullptr;  // the communicator's; null: none
  bool messagesBegun_ = false;
  bool messagesDone_ = false;
  bool messagesWarned_ = false;
  std::size_t nextCollective_ = 0;
  PreparedOperation* operation_ = nullptr;  // the collective that runs; null: none
  bool stepsDone_ = false;                  // of it, but what it posted may not have left
  CollectiveCall call_;                     // that one
  ErrorFeedback::Use feedback_;             // what it rounds away
  host::Work work_;
  Communicator::Watch watch_;
  Communicator::Watch messageWatch_;
  bool done_ = false;
};

}  // namespace rondo
