// The connection ends of one rank, made when an operation first needs them and kept for the
// communicator's life, since their counters go on from operation to operation.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "src/status.h"
#include "transports/connection.h"
#include "transports/mailbox.h"
#include "transports/rank_group.h"

namespace rondo {

/// @threads one at a time.
class ConnectionEnds {
 public:
  /// @param stores       into slots that ranks share
  /// @param firstChannel where the channels of these ends begin among the connections of a pair
  ConnectionEnds(int rank,
                 std::shared_ptr<RankGroup> group,
                 host::StorePolicy stores,
                 int firstChannel);

  /// The end for sending to `peer` on `channel`; valid as long as this object.
  /// @errors OutOfMemory
  Result<SendEnd*> sendEnd(int peer, int channel);

  /// The end for receiving from `peer` on `channel`; valid as long as this object.
  /// @errors OutOfMemory
  Result<RecvEnd*> recvEnd(int peer, int channel);

 private:
  using Key = std::pair<int, int>;  // peer, channel

  int rank_;
  std::shared_ptr<RankGroup> group_;
  host::StorePolicy stores_;
  int firstChannel_;
  std::map<Key, SendEnd> sends_;  // a map: entries keep their addresses
  std::map<Key, RecvEnd> recvs_;
};

/// The mailboxes of all ranks as `rank` uses them; null unless all share memory.
std::unique_ptr<MailboxEnds> makeMailboxEnds(RankGroup& group, int rank, int ranks);

/// All that an operation may use.
struct RankEnds {
  ConnectionEnds& connections;
  MailboxEnds* mailboxes = nullptr;  ///< not owned; null: there are none
};

}  // namespace rondo
