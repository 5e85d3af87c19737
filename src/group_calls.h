// The calls of one communicator in a group, kept until the group ends.
#pragma once

#include <vector>

#include "rondo/rondo.h"
#include "src/collective_call.h"
#include "src/message_call.h"

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
  std::vector<int> refusedPeers;  ///< of messages that are not among these, as they were refused

  /// Forgets them; keeps their memory.
  void clear() {
    collectives.clear();
    messages.clear();
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
