#include "kernels/host/message_table.h"

#include <map>

namespace rondo::host {

MessageTable::MessageTable(const MessagePlace& place, std::span<const ListedMessage> messages)
    : place_(place) {
  std::map<int, std::vector<std::size_t>> byRound;  // numbers, in the order of issue
  for (std::size_t number = 0; number < messages.size(); ++number) {
    const ListedMessage& message = messages[number];
    if (message.peer == place.rank) continue;
    const int round = message.sends ? messageRound(place.rank, message.peer, place.ranks)
                                    : messageRound(message.peer, place.rank, place.ranks);
    if (round % place.lanes == place.lane) byRound[round].push_back(number);
  }
  for (const auto& [round, numbers] : byRound)
    addRound(round, messages, numbers);
}

void MessageTable::addRound(int distance,
                            std::span<const ListedMessage> messages,
                            std::span<const std::size_t> numbers) {
  MessageRound round;
  if (!rounds_.empty()) round.firstStep = rounds_.back().firstStep + rounds_.back().steps();
  round.firstSend = sendPieces_;
  round.firstRecv = recvPieces_;
  for (const std::size_t number : numbers) {
    const ListedMessage& message = messages[number];
    std::size_t& pieces = message.sends ? sendPieces_ : recvPieces_;
    (message.sends ? sends_ : recvs_).push_back({number, message.bytes, pieces});
    pieces += messagePieces(message.bytes, place_.pieceBytes);
  }
  round.sends = sendPieces_ - round.firstSend;
  round.recvs = recvPieces_ - round.firstRecv;
  rounds_.push_back(round);
  sendPeers_.push_back(round.sends > 0 ? ringRank(place_.rank, distance, place_.ranks) : -1);
  recvPeers_.push_back(round.recvs > 0 ? ringRank(place_.rank, -distance, place_.ranks) : -1);
}

MessageRounds MessageTable::rounds() const {
  return {{rounds_.data(), rounds_.size()},
          {sends_.data(), sends_.size()},
          {recvs_.data(), recvs_.size()},
          place_.pieceBytes};
}

}  // namespace rondo::host
