#include "src/group_member.h"

#include <new>
#include <utility>

#include "kernels/host/float_environment.h"
#include "src/message_stall.h"

namespace rondo {

namespace {

host::Turn turnOf(PreparedOperation& operation, const host::Work& work) {
  if (!operation.computes()) return operation.takeTurn(work);
  const host::FloatEnvironment environment;
  return operation.takeTurn(work);
}

}  // namespace

GroupMember::GroupMember(Communicator& communicator,
                         const GroupCalls& calls,
                         std::optional<OperationOrder::Turn> turn)
    : communicator_(&communicator), turn_(std::move(turn)), calls_(&calls) {}

GroupMember::~GroupMember() {
  if (messagesWait()) communicator_->awaitReaders(*messages_);
  if (operation_ != nullptr) communicator_->awaitReaders(*operation_);
}

Status GroupMember::begin() try {
  Communicator& own = *communicator_;
  if (own.finalized_) return own.finalizedAlready();
  if (host::flagRaised(own.group_->failedFlag())) return own.failAll(own.group_->failure());
  for (const QueuedCollective& queued : calls_->collectives)
    RONDO_RETURN_IF_ERROR(own.checkPlan(queued.call));
  if (calls_->messages.empty()) return {};
  const MessageOperation::Place place{own.rank_, own.ranks(), own.facts_.slotBytes,
                                      own.config_.zeroCopyBytes};
  const Result<MessageOperation*> messages =
      MessageOperation::prepare(calls_->messages, place, own.messageEnds_, own.messages_);
  if (!messages.ok()) {
    const Status& failure = messages.status();
    return losesOnlyTheCall(failure.code()) ? failure : own.failAll(failure);
  }
  messages_ = *messages;
  return {};

} catch (const std::bad_alloc&) {  // while binding messages to connections

  return communicator_->failAll(
      Status::outOfMemory("rank {}: no memory for a group of messages", communicator_->rank_));
}

Result<bool> GroupMember::step() {
  if (host::flagRaised(communicator_->group_->failedFlag()))
    return communicator_->failAll(communicator_->group_->failure());
  Result<bool> exchanged = stepMessages();
  if (!exchanged.ok()) return exchanged;
  Result<bool> called = stepCollectives();
  if (!called.ok()) return called;
  const bool passedOn = place().progress();
  done_ = !messagesWait() && operation_ == nullptr && nextCollective_ == calls_->collectives.size();
  return *exchanged || *called || passedOn || done_;
}

// Messages.

Result<bool> GroupMember::stepMessages() {
  if (!messagesWait()) return false;
  CallRecord& record = communicator_->group_->record(communicator_->rank_);
  const bool counts = calls_->insteadOf == nullptr;
  if (!std::exchange(messagesBegun_, true) && counts) record.beginMessages();
  const MessageOperation::Turn turn = messages_->takeTurn();
  if (turn.mismatched.has_value()) return failedMatch(*turn.mismatched);
  messagesDone_ = turn.finished && place().flushed();
  if (messagesDone_ && counts) record.finishMessages();
  return turn.moved || messagesDone_;
}

const MessageList& GroupMember::spokenOf() const {
  return calls_->insteadOf != nullptr ? *calls_->insteadOf : messages_->list();
}

host::MessageLane::Wait GroupMember::spokenOf(const host::MessageLane::Wait& wait) const {
  if (calls_->insteadOf == nullptr) return wait;
  return {wait.blocked, calls_->insteadOf->firstWith(wait.blocked.peer)};
}

Status GroupMember::failedMatch(const host::MessageLane::Wait& wait) {
  return communicator_->failAll(messageMismatch(communicator_->rank_, spokenOf(), spokenOf(wait)));
}

Status GroupMember::checkMessages(const host::Waiter& waiter) {
  Communicator& own = *communicator_;
  const auto wait = messages_->wait();
  if (wait.has_value()) RONDO_RETURN_IF_ERROR(checkSender(*wait));
  const auto text = [&] {
    return wait.has_value()
               ? describeMessageWait(spokenOf(), spokenOf(*wait),
                                     own.group_->record(wait->blocked.peer),
                                     messages_->describeAside(wait->message))
               : fmt::format("its messages to leave for {}", own.group_->describeUnsent());
  };
  const std::chrono::milliseconds waited = waiter.waited();
  if (isDue(own.config_.operationTimeout, waited))
    return own.failAll(messagesWaitedTooLong(own.rank_, waited, text()));
  if (isDue(own.config_.warningAfter, waited) && !std::exchange(messagesWarned_, true))
    warnOfMessageWait(own.rank_, own.config_.name, waited, text());
  return {};
}

/// Whether what this rank waits for can still come from the peer, or be taken by it.
Status GroupMember::checkSender(const host::MessageLane::Wait& wait) {
  RankGroup& group = *communicator_->group_;
  const int peer = wait.blocked.peer;
  group.refresh(peer);
  const bool left = group.record(peer).hasLeft() && !group.mayBeOnItsWay(peer);
  const std::string whyLost = group.whyLost(peer);
  if (!left && whyLost.empty()) return checkRefusal(wait);
  // Whatever the peer did has come by now, so what is missing will never come.
  place().progress();
  const auto still = messages_->wait();
  if (!still.has_value() || still->blocked.peer != peer) return {};
  return communicator_->failAll(
      messagePeerLost(communicator_->rank_, spokenOf(), spokenOf(*still), whyLost));
}

/// Gives a peer that refused the other end of a message time to call again.
Status GroupMember::checkRefusal(const host::MessageLane::Wait& wait) {
  const int peer = wait.blocked.peer;
  const auto why = communicator_->group_->record(peer).rejectionOfMessages(communicator_->rank_);
  const auto now = host::Waiter::Clock::now();
  if (!why.has_value() || messageWatch_.rejecting != peer) {
    messageWatch_.rejecting = why.has_value() ? peer : -1;
    messageWatch_.rejectionSeen = now;
    return {};
  }
  if (now - messageWatch_.rejectionSeen < kTimeToCallAgain) return {};
  return communicator_->failAll(
      messageRejected(communicator_->rank_, spokenOf(), spokenOf(wait), *why));
}

// Collectives.

Status GroupMember::beginNextCollective() {
  Communicator& own = *communicator_;
  call_ = calls_->collectives[nextCollective_].call;
  Result<PreparedOperation*> prepared = own.prepare(call_);
  if (!prepared.ok()) return own.failAll(prepared.status());
  Result<ErrorFeedback::Use> feedback =
      own.useFeedback((*prepared)->plan, (*prepared)->codedResults(), call_);
  // Too late to give up the call alone: others may have begun it.
  if (!feedback.ok()) return own.failAll(Status::aborted("{}", feedback.status().message()));
  feedback_ = *std::move(feedback);
  operation_ = *prepared;
  operation_->restart();
  stepsDone_ = false;
  own.beginCall(operation_->request, operation_->plan);
  work_ = own.makeWork(*operation_, call_, own.current_.fingerprint(), feedback_.residuals());
  watch_ = {};
  return {};
}

Result<bool> GroupMember::stepCollectives() {
  if (nextCollective_ == calls_->collectives.size()) return false;
  if (operation_ == nullptr) RONDO_RETURN_IF_ERROR(beginNextCollective());
  bool moved = false;
  if (!stepsDone_) {
    const host::Turn turn = turnOf(*operation_, work_);
    if (turn.mismatched.has_value()) return communicator_->failMismatch(*turn.mismatched);
    stepsDone_ = turn.finished;
    moved = turn.moved;
  }
  if (!stepsDone_ || !place().flushed()) return moved;
  Communicator& own = *communicator_;
  own.complete(*operation_, call_, feedback_);
  operation_ = nullptr;
  ++nextCollective_;
  return true;
}

Status GroupMember::checkCollective(const host::Waiter& waiter) {
  const host::Blocked blocked = stepsDone_ ? host::Blocked{} : operation_->firstBlocked(work_);
  const host::RunOutcome outcome{host::RunResult::kStalled, blocked, !place().flushed()};
  if (blocked.peer < 0 && !outcome.flushing) return {};
  const int peer = blocked.peer >= 0 ? blocked.peer : communicator_->whomToCheck(outcome);
  RONDO_RETURN_IF_ERROR(communicator_->checkPeer(*operation_, work_, peer, watch_));
  return communicator_->checkStall({outcome.result, blocked, blocked.peer < 0}, waiter, watch_);
}

// Both.

Status GroupMember::check(const host::Waiter& waiter) {
  if (done_) return {};
  if (operation_ != nullptr) RONDO_RETURN_IF_ERROR(checkCollective(waiter));
  return messagesWait() ? checkMessages(waiter) : Status{};
}

void GroupMember::reject(const Status& reason) {
  if (!calls_->collectives.empty()) communicator_->noteRejection(reason);
  const std::vector<int> peers = calls_->peers();
  if (!peers.empty()) communicator_->noteRejectedMessages(peers, reason);
}

void GroupMember::giveUp(const Status& reason) {
  if (done_) return;
  (void)communicator_->failAll(Status(
      reason.code(),
      fmt::format("rank {}: the group that its calls on communicator {} were part of failed: {}",
                  communicator_->rank_, communicator_->config_.name, reason.message())));
}

}  // namespace rondo
