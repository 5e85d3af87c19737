// Sorts the messages of one rank into rounds: the tables behind collectives/point_to_point/.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/point_to_point/message_rounds.h"

namespace rondo::host {

/// One message of a group, as its rank lists it.
struct ListedMessage {
  int peer = 0;
  std::size_t bytes = 0;
  bool sends = false;
};

/// Where a table belongs.
struct MessagePlace {
  int rank = 0;
  int ranks = 1;
  int lane = 0;
  int lanes = 1;
  std::size_t pieceBytes = 1;  ///< most bytes in a slot
};

/// The rounds of one lane.
class MessageTable {
 public:
  /// @param messages in the order in which they were issued; those of other lanes, and those of the
  ///   rank to itself, are left out
  MessageTable(const MessagePlace& place, std::span<const ListedMessage> messages);

  /// Valid as long as this table is neither changed nor moved.
  MessageRounds rounds() const;

  /// What rounds() looks into.
  std::span<const MessageRound> roundList() const { return rounds_; }

  std::span<const RoundMessage> sendList() const { return sends_; }

  std::span<const RoundMessage> recvList() const { return recvs_; }

  std::size_t pieceBytes() const { return place_.pieceBytes; }

  std::size_t roundCount() const { return rounds_.size(); }

  /// Whom the rank sends to in that round, and receives from; -1: nobody.
  int sendPeer(std::size_t round) const { return sendPeers_[round]; }

  int recvPeer(std::size_t round) const { return recvPeers_[round]; }

 private:
  void addRound(int distance,
                std::span<const ListedMessage> messages,
                std::span<const std::size_t> numbers);

  MessagePlace place_;
  std::vector<MessageRound> rounds_;
  std::vector<RoundMessage> sends_;
  std::vector<RoundMessage> recvs_;
  std::vector<int> sendPeers_;
  std::vector<int> recvPeers_;
  std::size_t sendPieces_ = 0;
  std::size_t recvPieces_ = 0;
};

}  // namespace rondo::host
