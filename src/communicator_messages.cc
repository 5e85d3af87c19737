// The part of a communicator that makes messages from rank to rank on a device. On host memory they
// are made by groups (src/group_member.h), which also carry what ranks tell each other here.
#include <new>
#include <span>
#include <utility>

#include "src/communicator.h"
#include "src/group_run.h"

namespace rondo {

Status Communicator::runMessages(std::span<const MessageCall> calls, rondoStream_t stream) {
  const OperationOrder::Turn turn = order_->waitTurn();
  return runMessagesInTurn(calls, stream);
}

Status Communicator::runMessagesInTurn(std::span<const MessageCall> calls,
                                       rondoStream_t stream) try {
  if (finalized_) return finalizedAlready();
  if (host::flagRaised(group_->failedFlag())) return failAll(group_->failure());
  std::vector<int> peers;
  for (const MessageCall& call : calls)
    peers.push_back(call.peer);
  Status launched = launchMessages(calls, stream);
  if (launched.ok()) return launched;
  if (!losesOnlyTheCall(launched.code())) return failAll(launched);
  noteRejectedMessages(peers, launched);
  return launched;

} catch (const std::bad_alloc&) {  // while tables are made

  return failAll(Status::outOfMemory("rank {}: no memory for a group of messages", rank_));
}

Status Communicator::launchMessages(std::span<const MessageCall> calls, rondoStream_t stream) {
  RONDO_RETURN_IF_ERROR(device_->checkMessages(calls, stream));
  Result<MessageList> list = MessageList::make(calls, rank_);
  RONDO_RETURN_IF_ERROR(list.status());
  list->count(deviceMessages_);
  group_->record(rank_).beginMessages();
  Status made = connectMessages(*list);
  if (made.ok()) made = device_->runMessages(*std::move(list), stream);
  return made.ok() ? made : failAll(made);
}

Status Communicator::connectMessages(const MessageList& list) {
  const std::vector<int> strangers = device_->strangers(list.peers());
  if (strangers.empty()) return {};
  return device_->prepareMessages(
      strangers, [&](std::span<const int> peers, std::span<const std::byte> own,
                     std::span<std::byte> theirs) { return swapWith(list, peers, own, theirs); });
}

/// By messages on host memory, which are spoken of as those of `list` that they are made for.
Status Communicator::swapWith(const MessageList& list,
                              std::span<const int> peers,
                              std::span<const std::byte> own,
                              std::span<std::byte> theirs) {
  const std::size_t bytes = own.size() / peers.size();
  const auto add = [&](bool sends, std::size_t place, GroupCalls& calls) {
    MessageCall call;
    call.sends = sends;
    call.peer = peers[place];
    call.count = bytes;
    if (sends) {
      call.source = own.data() + place * bytes;
    } else {
      call.target = theirs.data() + place * bytes;
    }
    calls.messages.push_back(call);
  };
  GroupCalls first;
  GroupCalls second;
  first.insteadOf = second.insteadOf = &list;
  // First all that is sent, if slots hold it: who is waited for then needs no other than this rank.
  const bool fits = bytes <= facts_.slotBytes * facts_.slotCount;
  for (std::size_t place = 0; place < peers.size(); ++place) {
    add(true, place, first);
    add(false, place, fits ? second : first);
  }
  RONDO_RETURN_IF_ERROR(driveInTurn(*this, first));
  return driveInTurn(*this, second);
}

Status Communicator::warmUpDeviceMessages(int peer, bool sends) {
  MessageCall call;
  call.sends = sends;
  call.peer = peer;
  Result<MessageList> list = MessageList::make(std::span(&call, 1), rank_);
  RONDO_RETURN_IF_ERROR(list.status());
  const Status made = connectMessages(*list);
  return made.ok() ? made : failAll(made);
}

}  // namespace rondo
