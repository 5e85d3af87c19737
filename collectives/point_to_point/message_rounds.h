// Point-to-point messages of one group as one operation. The message from rank s to rank d belongs
// to round (d - s) mod n, at both ends; a rank walks its rounds in ascending order, and within one
// the pieces of what it sends and of what it receives take turns. Messages of one pair keep the
// order in which they were issued. Ranks need not take part, nor agree on anything but the
// messages between each two of them.
//
// Four ranks, 0 sends to 1 and 2, 1 sends to 2:
//
//   round 1   0 --> 1   1 --> 2
//   round 2   0 --> 2
//
// Free of deadlock with any messages and one slot: let the round of least number that is not over
// be r. The sender of its first missing piece has finished all rounds below r, and waits in round r
// for a slot that its receiver, in round r too, empties in its next step but one at most. (In the
// order of peers, or with all that is sent in a round before all that is received, it deadlocks:
// tests/schedule/message_rounds_test.cc.)
//
// A rank's rounds may be dealt out over lanes that move independently: round r is of lane r mod
// lanes. No two lanes share a connection, since a round has its own.
#pragma once

#include <cstddef>

#include "collectives/partition.h"
#include "collectives/patterns/ring.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

/// Lanes that the rounds of a group are dealt out over: a rank that waits in one round goes on in
/// others. The same on all ranks, since it decides which rounds wait for which.
inline constexpr int kMessageLanes = 4;

/// The round of messages from rank `from` to rank `to`; 0 for a rank's messages to itself.
RONDO_HD constexpr int messageRound(int from, int to, int ranks) {
  return ringRank(to, -from, ranks);
}

/// A message as one of its ends sees it, in a table that is sorted by round.
struct RoundMessage {
  std::size_t number = 0;      ///< which one in the caller's list
  std::size_t elems = 0;       ///< 0 is legal: one empty piece
  std::size_t firstPiece = 0;  ///< pieces of all messages before it in the table
};

/// What a rank does in one round. Pieces are counted from the start of the rank's tables.
struct MessageRound {
  std::size_t firstStep = 0;  ///< steps of all rounds before
  std::size_t firstSend = 0;  ///< pieces
  std::size_t sends = 0;
  std::size_t firstRecv = 0;
  std::size_t recvs = 0;

  RONDO_HD constexpr std::size_t steps() const { return sends + recvs; }
};

/// Elements in a table. Not owned.
template <class T>
struct TableView {
  const T* first = nullptr;
  std::size_t size = 0;

  /// The last entry whose `member` is at most `position`; the first entry's is 0.
  RONDO_HD constexpr std::size_t lastFrom(std::size_t T::*member, std::size_t position) const {
    std::size_t low = 0;
    std::size_t high = size;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (first[middle].*member <= position ? low : high) = middle;
    }
    return low;
  }
};

/// One piece of one message.
struct MessageStep {
  bool sends = false;       ///< else receives
  std::size_t round = 0;    ///< index in the table of rounds
  std::size_t message = 0;  ///< its number in the caller's list
  std::size_t offset = 0;   ///< elements into the message
  std::size_t elems = 0;

  /// As kernels/step_ready.h takes it: entries of the peer tables are indices of rounds.
  RONDO_HD constexpr Step step() const {
    const PeerRange entry{static_cast<int>(round), 1};
    Step step;
    (sends ? step.send : step.recv) = entry;
    step.elems = elems;
    return step;
  }
};

/// One lane of one rank.
class MessageRounds {
 public:
  /// @param pieceElems most elements in one slot; > 0, the same on all ranks
  RONDO_HD constexpr MessageRounds(TableView<MessageRound> rounds,
                                   TableView<RoundMessage> sends,
                                   TableView<RoundMessage> recvs,
                                   std::size_t pieceElems)
      : rounds_(rounds), sends_(sends), recvs_(recvs), pieceElems_(pieceElems) {}

  RONDO_HD constexpr std::size_t size() const {
    if (rounds_.size == 0) return 0;
    const MessageRound& last = rounds_.first[rounds_.size - 1];
    return last.firstStep + last.steps();
  }

  RONDO_HD constexpr MessageStep step(std::size_t index) const {
    MessageStep step;
    step.round = rounds_.lastFrom(&MessageRound::firstStep, index);
    const MessageRound& round = rounds_.first[step.round];
    const std::size_t inRound = index - round.firstStep;
    const std::size_t pairs = minOf(round.sends, round.recvs);
    const bool alternates = inRound < 2 * pairs;
    step.sends = alternates ? inRound % 2 == 0 : round.sends > round.recvs;
    const std::size_t piece = alternates ? inRound / 2 : inRound - pairs;
    fill(step, (step.sends ? round.firstSend : round.firstRecv) + piece);
    return step;
  }

 private:
  RONDO_HD constexpr void fill(MessageStep& step, std::size_t piece) const {
    const TableView<RoundMessage>& table = step.sends ? sends_ : recvs_;
    const RoundMessage& message = table.first[table.lastFrom(&RoundMessage::firstPiece, piece)];
    step.message = message.number;
    step.offset = (piece - message.firstPiece) * pieceElems_;
    step.elems = minOf(pieceElems_, message.elems - step.offset);
  }

  TableView<MessageRound> rounds_;
  TableView<RoundMessage> sends_;
  TableView<RoundMessage> recvs_;
  std::size_t pieceElems_;
};

/// Pieces of a message: an empty one has one, too, by which its ends find out that they agree.
RONDO_HD constexpr std::size_t messagePieces(std::size_t elems, std::size_t pieceElems) {
  return maxOf(ceilDiv(elems, pieceElems), 1);
}

}  // namespace rondo
