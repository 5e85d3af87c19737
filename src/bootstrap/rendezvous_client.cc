// joinRendezvous(): a rank's side of a rendezvous.
#include <algorithm>
#include <utility>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/log.h"
#include "src/net/backoff.h"
#include "src/net/socket.h"

namespace rondo {

namespace {

/// How much longer than its own deadline a rank waits for the root's word on who is missing.
constexpr std::chrono::milliseconds kAnswerGrace = std::chrono::seconds{2};

/// How often an address may answer as no root of this job would before it is given up; with the
/// pauses between, after about a second. More than once, because a root that strangers flood drops
/// connections too.
constexpr int kMostRefusals = 8;

/// A connection to the root, both ends convinced of each other.
struct RootConnection {
  FileDescriptor socket;
  std::string name;  ///< for messages: who and where it is
};

/// An address of the id that may lead to the root.
struct Lead {
  SocketAddress address;
  int refusals = 0;
};

Status checkJoin(int rank, int ranks, const std::string& payload) {
  if (ranks < 1 || ranks > kMostRanks) {
    return Status::invalidArgument("{} ranks; there can be 1 to {}", ranks, kMostRanks);
  }
  if (rank < 0 || rank >= ranks) {
    return Status::invalidArgument("rank {} of {} ranks; ranks go from 0 to {}", rank, ranks,
                                   ranks - 1);
  }
  if (payload.size() > kMaxJoinPayloadBytes) {
    return Status::invalidArgument("rank {}: a payload of {} bytes; there can be {}", rank,
                                   payload.size(), kMaxJoinPayloadBytes);
  }
  return {};
}

std::vector<SocketAddress> addressesOf(const std::vector<Lead>& leads) {
  std::vector<SocketAddress> addresses;
  std::transform(leads.begin(), leads.end(), std::back_inserter(addresses),
                 [](const Lead& lead) { return lead.address; });
  return addresses;
}

/// Whether no later try at that address is likely to end otherwise: not this job's root, or another
/// version of it.
bool isRefusal(const Status& status) {
  return status.code() == StatusCode::kMismatch;
}

/// Takes note of a handshake that failed at `leads[index]`: others come first now, and what
/// refuses too often is dropped.
void judge(std::vector<Lead>& leads, std::size_t index, const Status& status) {
  const auto failed = leads.begin() + static_cast<std::ptrdiff_t>(index);
  if (isRefusal(status)) ++failed->refusals;
  std::rotate(failed, failed + 1, leads.end());
  if (leads.back().refusals == kMostRefusals) leads.pop_back();
}

void logFailedTry(const PeerIdentity& self, const Status& why) {
  RONDO_LOG(kDebug, kCommunicator, LogContext{.rank = self.rank}, "{}", why.message());
}

/// Connects to the first of the leads that answers, and shakes hands with it.
Result<RootConnection> tryRoot(std::vector<Lead>& leads,
                               const SecretKey& secret,
                               const PeerIdentity& self,
                               Deadline deadline) {
  Result<MadeConnection> made = connectWithRetry(addressesOf(leads), deadline);
  RONDO_RETURN_IF_ERROR(made.status());
  std::string name = fmt::format("the root at {}", leads[made->address].address.text());
  Status status = authenticateAsClient(made->socket.get(), secret, self, deadline, name);
  if (status.ok()) return RootConnection{std::move(made->socket), std::move(name)};
  logFailedTry(self, status);
  judge(leads, made->address, status);
  return status;
}

Result<RootConnection> findRoot(const UniqueIdContent& id,
                                const PeerIdentity& self,
                                Deadline deadline) {
  std::vector<Lead> leads;
  std::transform(id.addresses.begin(), id.addresses.end(), std::back_inserter(leads),
                 [](const SocketAddress& address) { return Lead{address}; });
  Backoff backoff;
  for (;;) {
    Result<RootConnection> root = tryRoot(leads, id.secret, self, deadline);
    const StatusCode code = root.status().code();
    if (root.ok() || leads.empty() || code == StatusCode::kNotSupported) return root;
    if (deadline.passed()) {
      return Status::timeout("no root was found: {}", root.status().message());
    }
    backoff.pause(deadline);
  }
}

Status sendJoin(const RootConnection& root, std::string payload, Deadline deadline) {
  JoinMessage join{.payload = std::move(payload)};
  // Not 0, which would mean for ever.
  if (!deadline.never()) join.patience = std::max(deadline.remaining(), decltype(join.patience){1});
  std::vector<std::byte> stream;
  appendJoin(stream, join);
  return sendAll(root.socket.get(), stream, deadline, root.name);
}

Result<std::vector<std::string>> receiveEntries(const RootConnection& root,
                                                int ranks,
                                                Deadline deadline) {
  std::vector<std::string> payloads;
  for (int rank = 0; rank < ranks; ++rank) {
    const Result<Frame> frame = receiveFrame(root.socket.get(), deadline, root.name);
    RONDO_RETURN_IF_ERROR(frame.status());
    Result<EntryMessage> entry = readEntry(*frame);
    RONDO_RETURN_IF_ERROR(entry.status());
    if (entry->rank != rank) {
      return Status::internal("{} sent rank {} where rank {} was due", root.name, entry->rank,
                              rank);
    }
    payloads.push_back(std::move(entry->payload));
  }
  return payloads;
}

Result<std::vector<std::string>> join(const UniqueId& id,
                                      const PeerIdentity& self,
                                      std::string payload,
                                      Deadline deadline) {
  const Result<UniqueIdContent> content = readUniqueId(id);
  RONDO_RETURN_IF_ERROR(content.status());
  const Result<RootConnection> root = findRoot(*content, self, deadline);
  RONDO_RETURN_IF_ERROR(root.status());
  RONDO_LOG(kDebug, kCommunicator, LogContext{.rank = self.rank}, "joins {}", root->name);
  RONDO_RETURN_IF_ERROR(sendJoin(*root, std::move(payload), deadline));
  return receiveEntries(*root, self.ranks, deadline.extendedBy(kAnswerGrace));
}

}  // namespace

Result<std::vector<std::string>> joinRendezvous(const UniqueId& id,
                                                int rank,
                                                int ranks,
                                                std::string payload,
                                                const RendezvousSettings& settings) {
  RONDO_RETURN_IF_ERROR(checkJoin(rank, ranks, payload));
  const PeerIdentity self{.role = PeerRole::kRendezvous, .rank = rank, .ranks = ranks};
  Result<std::vector<std::string>> payloads =
      join(id, self, std::move(payload), Deadline::within(settings.initTimeout));
  if (payloads.ok()) return payloads;
  return std::move(payloads).status().withContext(fmt::format("rank {} of {}", rank, ranks));
}

}  // namespace rondo
