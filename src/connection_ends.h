// The connection ends of one rank, made when an operation first needs them and kept for the
// communicator's life, since their counters go on from operation to operation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "src/status.h"
#include "transports/connection.h"
#include "transports/mailbox.h"
#include "transports/rank_group.h"

namespace rondo {

/// @threads one at a time.
class ConnectionEnds {
 public:
  /// @param ranks        of the communicator
  /// @param stores       into slots that ranks share
  /// @param firstChannel where the channels of these ends begin among the connections of a pair
  ConnectionEnds(int rank,
                 int ranks,
                 std::shared_ptr<RankGroup> group,
                 host::SlotStores stores,
                 int firstChannel);

  /// The end for sending to `peer` on `channel`; valid as long as this object.
  /// @errors OutOfMemory
  Result<SendEnd*> sendEnd(int peer, int channel);

  /// The end for receiving from `peer` on `channel`; valid as long as this object.
  /// @errors OutOfMemory
  Result<RecvEnd*> recvEnd(int peer, int channel);

  /// Small operations of all ranks go through these; null unless all share memory.
  MailboxEnds* mailboxes() { return mailboxes_.has_value() ? &*mailboxes_ : nullptr; }

 private:
  using Key = std::pair<int, int>;  // peer, channel

  int rank_;
  std::shared_ptr<RankGroup> group_;
  host::SlotStores stores_;
  int firstChannel_;
  std::map<Key, SendEnd> sends_;  // a map: entries keep their addresses
  std::map<Key, RecvEnd> recvs_;
  std::optional<MailboxEnds> mailboxes_;
};

}  // namespace rondo
