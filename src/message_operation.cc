#include "src/message_operation.h"

#include <algorithm>
#include <cstring>

namespace rondo {

namespace {

/// Lanes that the rounds of a group are dealt out over: a rank that waits in one round goes on in
/// others. The same on all ranks, since it decides which rounds wait for which.
constexpr int kMessageLanes = 4;

}  // namespace

MessageOperation::MessageOperation(std::vector<MessageCall> calls, const Place& place)
    : calls_(std::move(calls)), place_(place) {
  for (const MessageCall& call : calls_) {
    memories_.push_back({static_cast<const std::byte*>(call.source),
                         static_cast<std::byte*>(call.target), MessageLabel(call).word()});
  }
}

Result<MessageOperation> MessageOperation::make(std::vector<MessageCall> calls,
                                                const Place& place,
                                                ConnectionEnds& ends,
                                                MessageCounts& counts) {
  MessageOperation operation(std::move(calls), place);
  RONDO_RETURN_IF_ERROR(operation.pairOwnMessages());
  RONDO_RETURN_IF_ERROR(operation.bindLanes(ends));
  for (const MessageCall& call : operation.calls_)
    operation.numbers_.push_back(counts.next(call));
  return operation;
}

Status MessageOperation::pairOwnMessages() {
  std::vector<std::size_t> sends;
  std::vector<std::size_t> recvs;
  for (std::size_t message = 0; message < calls_.size(); ++message) {
    if (calls_[message].peer != place_.rank) continue;
    (calls_[message].sends ? sends : recvs).push_back(message);
  }
  if (sends.size() != recvs.size()) {
    return Status::invalidArgument(
        "rank {}: {} messages to itself, but {} from itself; make as many of both in one group",
        place_.rank, sends.size(), recvs.size());
  }
  for (std::size_t pair = 0; pair < sends.size(); ++pair) {
    if (memories_[sends[pair]].label != memories_[recvs[pair]].label) {
      return Status::invalidArgument(
          "rank {}: its message to itself is {}, but it receives {}; pass the same type and count",
          place_.rank, labelText(sends[pair]), labelText(recvs[pair]));
    }
    ownMessages_.emplace_back(sends[pair], recvs[pair]);
  }
  return {};
}

Status MessageOperation::bindLanes(ConnectionEnds& ends) {
  std::vector<host::ListedMessage> listed;
  for (const MessageCall& call : calls_)
    listed.push_back({call.peer, call.bytes(), call.sends});  // to itself: left out there
  for (int lane = 0; lane < std::min(kMessageLanes, place_.ranks); ++lane) {
    const host::MessagePlace place{place_.rank, place_.ranks, lane, kMessageLanes,
                                   place_.slotBytes};
    host::MessageTable table(place, listed);
    if (table.roundCount() == 0) continue;
    std::vector<SendEnd*> send(table.roundCount());
    std::vector<RecvEnd*> recv(table.roundCount());
    for (std::size_t round = 0; round < table.roundCount(); ++round) {
      if (const int peer = table.sendPeer(round); peer >= 0) {
        const Result<SendEnd*> end = ends.sendEnd(peer, 0);
        RONDO_RETURN_IF_ERROR(end.status());
        send[round] = *end;
      }
      if (const int peer = table.recvPeer(round); peer >= 0) {
        const Result<RecvEnd*> end = ends.recvEnd(peer, 0);
        RONDO_RETURN_IF_ERROR(end.status());
        recv[round] = *end;
      }
    }
    lanes_.emplace_back(std::move(table), std::move(send), std::move(recv), memories_,
                        place_.elsewhereBytes);
  }
  return {};
}

MessageOperation::Turn MessageOperation::takeTurn() {
  Turn turn;
  turn.moved = !ownMessages_.empty();
  copyOwnMessages();
  for (host::MessageLane& lane : lanes_) {
    const host::StepResult result = lane.tryStep();
    turn.moved |= result == host::StepResult::kRan;
    turn.finished &= result == host::StepResult::kFinished;
    if (result == host::StepResult::kMismatch) turn.mismatched = lane.wait();
  }
  return turn;
}

void MessageOperation::copyOwnMessages() {
  for (const auto& [send, recv] : ownMessages_) {
    if (calls_[send].count == 0) continue;
    std::memmove(memories_[recv].target, memories_[send].source, calls_[send].bytes());
  }
  ownMessages_.clear();
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

std::string MessageOperation::describe(std::size_t message) const {
  const MessageCall& call = calls_[message];
  return fmt::format("{} #{} {} rank {} of {}", call.sends ? "send" : "recv", numbers_[message],
                     call.sends ? "to" : "from", call.peer, labelText(message));
}

std::string MessageOperation::describeOtherEnd(std::size_t message) const {
  const MessageCall& call = calls_[message];
  return fmt::format("{} #{} {} rank {}", call.sends ? "recv" : "send", numbers_[message],
                     call.sends ? "from" : "to", place_.rank);
}

}  // namespace rondo
