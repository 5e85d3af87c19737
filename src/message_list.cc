#include "src/message_list.h"

#include <algorithm>
#include <numeric>

namespace rondo {

MessageList::MessageList(std::span<const MessageCall> calls, int rank)
    : order_(calls.size()), rank_(rank), numbers_(calls.size(), 1) {
  // Both ends alike, so that among messages that fit together none has to be put aside.
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, {}, [&](std::size_t call) { return calls[call].tag; });
  for (const std::size_t call : order_)
    calls_.push_back(calls[call]);
}

Result<MessageList> MessageList::make(std::span<const MessageCall> calls, int rank) {
  MessageList list(calls, rank);
  RONDO_RETURN_IF_ERROR(list.pairOwn());
  return list;
}

Status MessageList::pairOwn() {
  std::vector<std::size_t> sends;
  std::vector<std::size_t> recvs;
  for (std::size_t message = 0; message < calls_.size(); ++message) {
    if (calls_[message].peer != rank_) continue;
    (calls_[message].sends ? sends : recvs).push_back(message);
  }
  if (sends.size() != recvs.size()) {
    return Status::invalidArgument(
        "rank {}: {} messages to itself, but {} from itself; make as many of both in one group",
        rank_, sends.size(), recvs.size());
  }
  for (std::size_t pair = 0; pair < sends.size(); ++pair) {
    if (calls_[sends[pair]].label().word() != calls_[recvs[pair]].label().word()) {
      return Status::invalidArgument(
          "rank {}: its message to itself is {}, but it receives {}; pass the same type, count and "
          "tag",
          rank_, describeLabel(sends[pair]), describeLabel(recvs[pair]));
    }
    own_.emplace_back(sends[pair], recvs[pair]);
  }
  return {};
}

void MessageList::count(MessageCounts& counts) {
  for (std::size_t message = 0; message < calls_.size(); ++message)
    numbers_[message] = counts.next(calls_[message]);
}

std::vector<int> MessageList::peers() const {
  std::vector<int> peers;
  for (const MessageCall& call : calls_) {
    if (call.peer != rank_) peers.push_back(call.peer);
  }
  std::ranges::sort(peers);
  peers.erase(std::ranges::unique(peers).begin(), peers.end());
  return peers;
}

std::size_t MessageList::firstWith(int peer) const {
  const auto found = std::ranges::find(calls_, peer, &MessageCall::peer);
  return static_cast<std::size_t>(found - calls_.begin());
}

std::string MessageList::describe(std::size_t message) const {
  const MessageCall& call = calls_[message];
  return fmt::format("{} #{} {} rank {} of {}", call.sends ? "send" : "recv", numbers_[message],
                     call.sends ? "to" : "from", call.peer, describeLabel(message));
}

std::string MessageList::describeOtherEnd(std::size_t message) const {
  const MessageCall& call = calls_[message];
  return fmt::format("{} #{} {} rank {}", call.sends ? "recv" : "send", numbers_[message],
                     call.sends ? "from" : "to", rank_);
}

}  // namespace rondo
