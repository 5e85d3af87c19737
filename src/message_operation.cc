#include "src/message_operation.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rondo {

namespace {

/// Groups that are kept prepared: what a pipeline sends and receives in one step, or as much of a
/// program that has no such steps as is worth to be looked through.
constexpr std::size_t kMostPrepared = 8;

}  // namespace

MessageState::MessageState(int ranks) : inboxes(static_cast<std::size_t>(ranks)) {
  prepared.reserve(kMostPrepared);
}

MessageState::~MessageState() = default;

MessageOperation::MessageOperation(MessageList list, const Place& place, MessageState& state)
    : list_(std::move(list)), place_(place), state_(&state) {
  for (const MessageCall& call : list_.calls())
    memories_.push_back({nullptr, nullptr, call.label()});
}

Result<MessageOperation*> MessageOperation::prepare(std::span<const MessageCall> calls,
                                                    const Place& place,
                                                    ConnectionEnds& ends,
                                                    MessageState& state) {
  auto& prepared = state.prepared;
  auto found = std::ranges::find_if(prepared, [&](const auto& one) { return one->fits(calls); });
  if (found == prepared.end()) {
    Result<std::unique_ptr<MessageOperation>> made = make(calls, place, ends, state);
    RONDO_RETURN_IF_ERROR(made.status());
    if (prepared.size() == kMostPrepared) prepared.pop_back();
    found = prepared.insert(prepared.end(), *std::move(made));
  }
  std::rotate(prepared.begin(), found, found + 1);
  prepared.front()->start(calls);
  return prepared.front().get();
}

Result<std::unique_ptr<MessageOperation>> MessageOperation::make(std::span<const MessageCall> calls,
                                                                 const Place& place,
                                                                 ConnectionEnds& ends,
                                                                 MessageState& state) {
  Result<MessageList> list = MessageList::make(calls, place.rank);
  RONDO_RETURN_IF_ERROR(list.status());
  std::unique_ptr<MessageOperation> operation(new MessageOperation(*std::move(list), place, state));
  RONDO_RETURN_IF_ERROR(operation->bindLanes(ends));
  return operation;
}

/// Whether `calls` differ in nothing but their buffers from those that this was made for.
bool MessageOperation::fits(std::span<const MessageCall> calls) const {
  if (calls.size() != list_.calls().size()) return false;
  for (std::size_t message = 0; message < calls.size(); ++message) {
    const MessageCall& own = list_.calls()[message];
    const MessageCall& other = calls[list_.order()[message]];
    const bool same = own.sends == other.sends && own.peer == other.peer &&
                      memories_[message].label.word() == other.label().word();
    if (!same) return false;
  }
  return true;
}

void MessageOperation::start(std::span<const MessageCall> calls) {
  for (std::size_t message = 0; message < calls.size(); ++message) {
    const MessageCall& call = calls[list_.order()[message]];
    memories_[message].source = static_cast<const std::byte*>(call.source);
    memories_[message].target = static_cast<std::byte*>(call.target);
  }
  list_.count(state_->counts);
  ownCopied_ = false;
  for (host::MessageLane& lane : lanes_)
    lane.restart();
}

Status MessageOperation::bindLanes(ConnectionEnds& ends) {
  std::vector<host::ListedMessage> listed;
  for (const MessageCall& call : list_.calls())
    listed.push_back({call.peer, call.bytes(), call.sends});  // to itself: left out there
  for (int lane = 0; lane < std::min(kMessageLanes, place_.ranks); ++lane) {
    const host::MessagePlace place{place_.rank, place_.ranks, lane, kMessageLanes,
                                   place_.slotBytes};
    host::MessageTable table(place, listed);
    if (table.roundCount() == 0) continue;
    std::vector<SendEnd*> send(table.roundCount());
    std::vector<host::MessageLane::Source> recv(table.roundCount());
    for (std::size_t round = 0; round < table.roundCount(); ++round) {
      if (const int peer = table.sendPeer(round); peer >= 0) {
        const Result<SendEnd*> end = ends.sendEnd(peer, 0);
        RONDO_RETURN_IF_ERROR(end.status());
        send[round] = *end;
      }
      if (const int peer = table.recvPeer(round); peer >= 0) {
        const Result<RecvEnd*> end = ends.recvEnd(peer, 0);
        RONDO_RETURN_IF_ERROR(end.status());
        recv[round] = {*end, &state_->inboxes[static_cast<std::size_t>(peer)]};
      }
    }
    lanes_.emplace_back(std::move(table), std::move(send), std::move(recv), memories_,
                        place_.elsewhereBytes);
  }
  return {};
}

MessageOperation::Turn MessageOperation::takeTurn() {
  Turn turn;
  turn.moved = copyOwnMessages();
  for (host::MessageLane& lane : lanes_) {
    const host::StepResult result = lane.tryStep();
    turn.moved |= result == host::StepResult::kRan;
    turn.finished &= result == host::StepResult::kFinished;
    if (result == host::StepResult::kMismatch) turn.mismatched = lane.wait();
  }
  return turn;
}

/// @return whether there were any
bool MessageOperation::copyOwnMessages() {
  if (std::exchange(ownCopied_, true)) return false;
  for (const auto& [send, recv] : list_.own()) {
    const std::size_t bytes = list_.calls()[send].bytes();
    if (bytes > 0) std::memmove(memories_[recv].target, memories_[send].source, bytes);
  }
  return !list_.own().empty();
}

std::optional<host::MessageLane::Wait> MessageOperation::wait() {
  for (host::MessageLane& lane : lanes_) {
    const auto wait = lane.wait();
    if (wait.has_value()) return wait;
  }
  return std::nullopt;
}

void MessageOperation::withdraw(const std::function<void(int)>& onReader) {
  for (host::MessageLane& lane : lanes_)
    lane.withdraw(onReader);
}

std::string MessageOperation::describeAside(std::size_t message) const {
  const MessageCall& call = list_.calls()[message];
  if (call.sends) return {};
  constexpr std::size_t kMostNamed = 8;
  const auto& aside = state_->inboxes[static_cast<std::size_t>(call.peer)].aside();
  std::string text;
  for (std::size_t place = 0; place < std::min(aside.size(), kMostNamed); ++place)
    text += fmt::format("{}{}", text.empty() ? "; put aside since tags differ: " : ", ",
                        labelText(aside[place].label));
  if (aside.size() > kMostNamed) text += fmt::format(" and {} more", aside.size() - kMostNamed);
  return text;
}

}  // namespace rondo
