// The point-to-point calls of one rank in one group, bound to connections: one operation, run a
// step at a time (collectives/point_to_point/message_rounds.h has its order).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/message_inbox.h"
#include "kernels/host/message_lane.h"
#include "src/connection_ends.h"
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

  /// "recv #4 from rank 3 of float count 100".
  std::string describe(std::size_t message) const;

  /// The same message as its other end counts it: "send #4 to rank 1".
  std::string describeOtherEnd(std::size_t message) const;

  /// What the other end must give: "float count 100".
  std::string describeLabel(std::size_t message) const {
    return labelText(calls_[message].label());
  }

  /// "; put aside since tags differ: float count 100 tag 3": what has come from the sender of
  /// `message` for other calls than this. Empty: nothing.
  std::string describeAside(std::size_t message) const;

 private:
  MessageOperation(std::span<const MessageCall> calls, const Place& place, MessageState& state);

  static Result<std::unique_ptr<MessageOperation>> make(std::span<const MessageCall> calls,
                                                        const Place& place,
                                                        ConnectionEnds& ends,
                                                        MessageState& state);
  Status pairOwnMessages();
  Status bindLanes(ConnectionEnds& ends);
  bool fits(std::span<const MessageCall> calls) const;
  void start(std::span<const MessageCall> calls);
  bool copyOwnMessages();

  // By message: not in the order of issue, but by tag.
  std::vector<std::size_t> order_;  // which of the calls
  std::vector<MessageCall> calls_;
  std::vector<std::uint64_t> numbers_;
  std::vector<host::MessageMemory> memories_;

  Place place_;
  MessageState* state_;                                           // the communicator's
  std::vector<std::pair<std::size_t, std::size_t>> ownMessages_;  // sends and receives: copies
  bool ownCopied_ = false;
  std::vector<host::MessageLane> lanes_;
};

}  // namespace rondo
