// The calls of one communicator in a group, kept until the group ends.
#pragma once

#include <vector>

#include "rondo/rondo.h"
#include "src/collective_call.h"
#include "src/message_list.h"

namespace rondo {

/// A collective that is carried out later.
struct QueuedCollective {
  CollectiveCall call;
  rondoStream_t stream =
      nullptr;  ///< of a device; null on host memory, where it is the whole group's
};

/// Each kind in the order in which the calls were issued.
struct GroupCalls {
  std::vector<QueuedCollective> collectives;
  std::vector<MessageCall> messages;
  /// Of a device: of all messages. Null on host memory, where it is the whole group's.
  rondoStream_t messageStream = nullptr;
  /// What is said of these messages is said of those with the same peers there, which cannot be
  /// made before. Null: there are no others. Not owned.
  const MessageList* insteadOf = nullptr;
  std::vector<int> refusedPeers;  ///< of messages that are not among these, as they were refused

  /// Forgets them; keeps their memory.
  void clear() {
    collectives.clear();
    messages.clear();
    messageStream = nullptr;
    insteadOf = nullptr;
    refusedPeers.clear();
  }

  /// The ranks at the other ends of all messages.
  std::vector<int> peers() const {
    std::vector<int> all = refusedPeers;
    for (const MessageCall& message : messages)
      all.push_back(message.peer);
    return all;
  }
};

}  // namespace rondo
