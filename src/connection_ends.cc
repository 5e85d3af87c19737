#include "src/connection_ends.h"

namespace rondo {

namespace {

template <class End, class Connect>
Result<End*> findOrMake(std::map<std::pair<int, int>, End>& ends,
                        std::pair<int, int> key,
                        const Connect& connect) {
  if (const auto found = ends.find(key); found != ends.end()) return &found->second;
  const Result<ConnectionMemory> memory = connect();
  if (!memory.ok()) return memory.status();
  return &ends.try_emplace(key, *memory, key.first).first->second;
}

}  // namespace

ConnectionEnds::ConnectionEnds(int rank,
                               std::shared_ptr<RankGroup> group,
                               host::StorePolicy stores,
                               int firstChannel)
    : rank_(rank), group_(std::move(group)), stores_(stores), firstChannel_(firstChannel) {}

Result<SendEnd*> ConnectionEnds::sendEnd(int peer, int channel) {
  const int connection = firstChannel_ + channel;
  return findOrMake(sends_, Key{peer, connection}, [&] {
    Result<ConnectionMemory> memory = group_->connection(rank_, peer, connection);
    if (memory.ok() && memory->stores == host::StorePolicy::kMeasured) memory->stores = stores_;
    return memory;
  });
}

Result<RecvEnd*> ConnectionEnds::recvEnd(int peer, int channel) {
  const int connection = firstChannel_ + channel;
  return findOrMake(recvs_, Key{peer, connection},
                    [&] { return group_->connection(peer, rank_, connection); });
}

std::unique_ptr<MailboxEnds> makeMailboxEnds(RankGroup& group, int rank, int ranks) {
  std::vector<MailboxMemory> mailboxes;
  for (int other = 0; other < ranks; ++other) {
    const std::optional<MailboxMemory> mailbox = group.mailbox(other);
    if (!mailbox.has_value()) return nullptr;
    mailboxes.push_back(*mailbox);
  }
  return std::make_unique<MailboxEnds>(std::move(mailboxes), rank);
}

}  // namespace rondo
