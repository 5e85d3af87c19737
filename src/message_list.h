// The point-to-point calls of one rank in one group, in the order that both ends of messages know,
// and what is said of them when something is wrong. How they are carried out:
// src/message_operation.h on host memory, src/cuda/device_messages.h on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/message_call.h"
#include "src/status.h"

namespace rondo {

/// Messages between this rank and each other one so far, for error messages: the k-th with a tag
/// that one sends is the k-th with that tag that the other receives.
class MessageCounts {
 public:
  /// The number of this message among those with its tag from or to its peer; 1 is the first.
  std::uint64_t next(const MessageCall& call) {
    return ++(call.sends ? sent_ : received_)[{call.peer, call.tag}];
  }

 private:
  using ByPeerAndTag = std::map<std::pair<int, int>, std::uint64_t>;

  ByPeerAndTag sent_;
  ByPeerAndTag received_;
};

/// @threads any, once it is made
class MessageList {
 public:
  /// A send and a receive of the rank itself that belong together, by place in calls().
  using OwnPair = std::pair<std::size_t, std::size_t>;

  /// @param calls in the order in which they were issued
  /// @errors InvalidArgument: messages to the rank itself do not fit together
  static Result<MessageList> make(std::span<const MessageCall> calls, int rank);

  /// Gives the messages their numbers: they are going to be made.
  void count(MessageCounts& counts);

  /// Sorted by tag, else in the order in which they were issued.
  const std::vector<MessageCall>& calls() const { return calls_; }

  /// By place in calls(): the place of the call among those that were issued.
  const std::vector<std::size_t>& order() const { return order_; }

  int rank() const { return rank_; }

  const std::vector<OwnPair>& own() const { return own_; }

  /// The ranks at the other ends, each once, without the rank itself.
  std::vector<int> peers() const;

  /// The first message to or from `peer`, of which there is one.
  std::size_t firstWith(int peer) const;

  /// "recv #4 from rank 3 of float count 100".
  std::string describe(std::size_t message) const;

  /// The same message as its other end counts it: "send #4 to rank 1".
  std::string describeOtherEnd(std::size_t message) const;

  /// What the other end must give: "float count 100".
  std::string describeLabel(std::size_t message) const {
    return labelText(calls_[message].label());
  }

 private:
  MessageList(std::span<const MessageCall> calls, int rank);

  Status pairOwn();

  std::vector<std::size_t> order_;
  std::vector<MessageCall> calls_;
  int rank_;
  std::vector<std::uint64_t> numbers_;  // by message
  std::vector<OwnPair> own_;
};

}  // namespace rondo
