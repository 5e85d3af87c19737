#include "src/connection_ends.h"

namespace rondo {

namespace {

template <class End>
Result<End*> findOrMake(std::map<std::pair<int, int>, End>& ends,
                        std::pair<int, int> key,
                        Result<ConnectionMemory> (*connect)(RankGroup&, int, int, int),
                        RankGroup& group,
                        int rank) {
  if (const auto found = ends.find(key); found != ends.end()) return &found->second;
  Result<ConnectionMemory> memory = connect(group, rank, key.first, key.second);
  if (!memory.ok()) return std::move(memory).status();
  return &ends.try_emplace(key, *memory, key.first).first->second;
}

}  // namespace

ConnectionEnds::ConnectionEnds(int rank,
                               int ranks,
                               std::shared_ptr<RankGroup> group,
                               int firstChannel)
    : rank_(rank), group_(std::move(group)), firstChannel_(firstChannel) {
  std::vector<MailboxMemory> mailboxes;
  for (int other = 0; other < ranks; ++other) {
    const std::optional<MailboxMemory> mailbox = group_->mailbox(other);
    if (!mailbox.has_value()) return;
    mailboxes.push_back(*mailbox);
  }
  mailboxes_.emplace(std::move(mailboxes), rank);
}

Result<SendEnd*> ConnectionEnds::sendEnd(int peer, int channel) {
  const auto outgoing = [](RankGroup& group, int own, int other, int lane) {
    return group.connection(own, other, lane);
  };
  return findOrMake<SendEnd>(sends_, Key{peer, firstChannel_ + channel}, outgoing, *group_, rank_);
}

Result<RecvEnd*> ConnectionEnds::recvEnd(int peer, int channel) {
  const auto incoming = [](RankGroup& group, int own, int other, int lane) {
    return group.connection(other, own, lane);
  };
  return findOrMake<RecvEnd>(recvs_, Key{peer, firstChannel_ + channel}, incoming, *group_, rank_);
}

}  // namespace rondo
