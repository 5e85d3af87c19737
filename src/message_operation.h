// The point-to-point calls of one rank in one group, bound to connections: one operation, run a
// step at a time (collectives/point_to_point/message_rounds.h has its order).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/message_inbox.h"
#include "kernels/host/message_lane.h"
#include "src/connection_ends.h"
#include "src/message_list.h"
#include "src/status.h"

namespace rondo {

class MessageOperation;

/// What a communicator keeps of its messages from one group to the next.
struct MessageState {
  explicit MessageState(int ranks);
  ~MessageState();
  MessageState(const MessageState&) = delete;
  MessageState& operator=(const MessageState&) = delete;

  MessageCounts counts;
  std::vector<host::MessageInbox> inboxes;  ///< by sending rank
  /// The last groups, the latest one first: programs repeat theirs with other buffers.
  std::vector<std::unique_ptr<MessageOperation>> prepared;
};

/// Prepared for groups that differ in nothing but their buffers. @threads one at a time.
class MessageOperation {
 public:
  /// Where the operation runs.
  struct Place {
    int rank = 0;
    int ranks = 1;
    std::size_t slotBytes = 1;
    std::size_t elsewhereBytes = 0;  ///< as host::Work::elsewhereBytes
  };

  /// One for `calls`, at its start. The state's; valid until it prepares the next.
  /// @param calls in the order in which they were issued
  /// @param place the same in all calls with one state
  /// @errors InvalidArgument (messages to the rank itself that do not fit together; nothing was
  ///   changed), OutOfMemory
  /// @throws std::bad_alloc; never for calls like those of one of the last groups
  static Result<MessageOperation*> prepare(std::span<const MessageCall> calls,
                                           const Place& place,
                                           ConnectionEnds& ends,
                                           MessageState& state);

  /// What came of one step of each lane that was ready.
  struct Turn {
    bool moved = false;
    bool finished = true;
    /// A message whose slot belongs to another one.
    std::optional<host::MessageLane::Wait> mismatched;
  };

  Turn takeTurn();

  /// The first message that cannot go on, and whom it waits for.
  std::optional<host::MessageLane::Wait> wait();

  /// As host::Lane::withdraw().
  void withdraw(const std::function<void(int)>& onReader);

  /// Its messages, for what is said of them.
  const MessageList& list() const { return list_; }

  /// "; put aside since tags differ: float count 100 tag 3": what has come from the sender of
  /// `message` for other calls than this. Empty: nothing.
  std::string describeAside(std::size_t message) const;

 private:
  MessageOperation(MessageList list, const Place& place, MessageState& state);

  static Result<std::unique_ptr<MessageOperation>> make(std::span<const MessageCall> calls,
                                                        const Place& place,
                                                        ConnectionEnds& ends,
                                                        MessageState& state);
  Status bindLanes(ConnectionEnds& ends);
  bool fits(std::span<const MessageCall> calls) const;
  void start(std::span<const MessageCall> calls);
  bool copyOwnMessages();

  MessageList list_;
  std::vector<host::MessageMemory> memories_;

  Place place_;
  MessageState* state_;     // the communicator's
  bool ownCopied_ = false;  // what the rank sends to itself
  std::vector<host::MessageLane> lanes_;
};

}  // namespace rondo
