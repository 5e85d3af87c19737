#include "src/bootstrap/rendezvous_session.h"

#include <algorithm>
#include <utility>

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

/// An address of the id that may lead to the root.
struct Lead {
  SocketAddress address;
  int refusals = 0;
};

Status checkRank(int rank, int ranks) {
  if (ranks < 1 || ranks > kMostRanks) {
    return Status::invalidArgument("{} ranks; there can be 1 to {}", ranks, kMostRanks);
  }
  if (rank < 0 || rank >= ranks) {
    return Status::invalidArgument("rank {} of {} ranks; ranks go from 0 to {}", rank, ranks,
                                   ranks - 1);
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

std::string nameOfRoot(const SocketAddress& address) {
  return fmt::format("the root at {}", address.text());
}

void logFailedTry(const PeerIdentity& self, const Status& why) {
  RONDO_LOG(kDebug, kCommunicator, LogContext{.rank = self.rank}, "{}", why.message());
}

struct ProvenConnection {
  FileDescriptor socket;
  SocketAddress address;
};

/// Connects to the first of the leads that answers, and shakes hands with it.
Result<ProvenConnection> tryRoot(std::vector<Lead>& leads,
                                 const SecretKey& secret,
                                 const PeerIdentity& self,
                                 Deadline deadline) {
  Result<MadeConnection> made = connectWithRetry(addressesOf(leads), deadline);
  RONDO_RETURN_IF_ERROR(made.status());
  const SocketAddress address = leads[made->address].address;
  Status status =
      authenticateAsClient(made->socket.get(), secret, self, deadline, nameOfRoot(address));
  if (status.ok()) return ProvenConnection{std::move(made->socket), address};
  logFailedTry(self, status);
  judge(leads, made->address, status);
  return status;
}

/// A connection to the root of `place`, on which both ends have proved themselves.
Result<ProvenConnection> connectToRoot(const UniqueIdContent& place,
                                       const PeerIdentity& self,
                                       Deadline deadline) {
  std::vector<Lead> leads;
  std::transform(place.addresses.begin(), place.addresses.end(), std::back_inserter(leads),
                 [](const SocketAddress& address) { return Lead{address}; });
  Backoff backoff;
  for (;;) {
    Result<ProvenConnection> root = tryRoot(leads, place.secret, self, deadline);
    const StatusCode code = root.status().code();
    if (root.ok() || leads.empty() || code == StatusCode::kNotSupported) return root;
    if (deadline.passed()) {
      return Status::timeout("no root was found: {}", root.status().message());
    }
    backoff.pause(deadline);
  }
}

std::string nameOfRank(const PeerIdentity& self) {
  return fmt::format("rank {} of {}", self.rank, self.ranks);
}

}  // namespace

Result<SocketAddress> probeForRoot(const UniqueIdContent& place,
                                   int rank,
                                   int ranks,
                                   Deadline deadline) {
  const PeerIdentity self{.role = PeerRole::kProbe, .rank = rank, .ranks = ranks};
  const Result<ProvenConnection> root = connectToRoot(place, self, deadline);
  if (!root.ok()) return root.status().withContext(nameOfRank(self));
  return root->address;
}

RendezvousSession::RendezvousSession(Root root, const PeerIdentity& self, Deadline deadline)
    : root_(std::move(root)), self_(self), deadline_(deadline) {}

Result<std::unique_ptr<RendezvousSession>> RendezvousSession::open(
    const UniqueId& id, int rank, int ranks, const RendezvousSettings& settings) {
  RONDO_RETURN_IF_ERROR(checkRank(rank, ranks));
  const PeerIdentity self{.role = PeerRole::kRendezvous, .rank = rank, .ranks = ranks};
  Deadline deadline = Deadline::within(settings.initTimeout);
  if (settings.givenUp != nullptr) deadline = deadline.orRaised(*settings.givenUp);
  const Result<UniqueIdContent> content = readUniqueId(id);
  RONDO_RETURN_IF_ERROR(content.status());
  Result<ProvenConnection> root = connectToRoot(*content, self, deadline);
  if (!root.ok()) return std::move(root).status().withContext(nameOfRank(self));
  std::string name = nameOfRoot(root->address);
  RONDO_LOG(kDebug, kCommunicator, LogContext{.rank = self.rank}, "joins {}", name);
  return std::unique_ptr<RendezvousSession>(
      new RendezvousSession({std::move(root->socket), std::move(name)}, self, deadline));
}

RendezvousSession::~RendezvousSession() {
  if (!root_.socket.valid()) return;
  std::vector<std::byte> farewell;
  appendFarewell(farewell);
  const Status status = sendAll(root_.socket.get(), farewell, Deadline::immediate(), root_.name);
  if (!status.ok()) logFailedTry(self_, status);
}

Result<std::vector<std::string>> RendezvousSession::allGather(std::string payload) {
  if (payload.size() > kMaxExchangeBytes) {
    return Status::invalidArgument("rank {}: a payload of {} bytes; there can be {}", self_.rank,
                                   payload.size(), kMaxExchangeBytes);
  }
  if (!root_.socket.valid()) {
    return Status::invalidUsage("{}: a round after one that failed", nameOfRank(self_));
  }
  Result<std::vector<std::string>> payloads = runRound(std::move(payload));
  ++round_;
  if (payloads.ok()) return payloads;
  root_.socket.reset();
  return std::move(payloads).status().withContext(nameOfRank(self_));
}

Result<std::vector<std::string>> RendezvousSession::runRound(std::string payload) {
  RONDO_RETURN_IF_ERROR(sendJoin(std::move(payload)));
  return receiveEntries();
}

Status RendezvousSession::sendJoin(std::string payload) const {
  JoinMessage join{.round = round_, .payload = std::move(payload)};
  // Not 0, which would mean for ever.
  if (!deadline_.never()) {
    join.patience = std::max(deadline_.remaining(), decltype(join.patience){1});
  }
  std::vector<std::byte> stream;
  appendJoin(stream, join);
  return sendAll(root_.socket.get(), stream, deadline_, root_.name);
}

Result<std::vector<std::string>> RendezvousSession::receiveEntries() const {
  const Deadline deadline = deadline_.extendedBy(kAnswerGrace);
  std::vector<std::string> payloads;
  for (int rank = 0; rank < self_.ranks; ++rank) {
    const Result<Frame> frame = receiveFrame(root_.socket.get(), deadline, root_.name);
    RONDO_RETURN_IF_ERROR(frame.status());
    Result<EntryMessage> entry = readEntry(*frame);
    RONDO_RETURN_IF_ERROR(entry.status());
    if (entry->rank != rank) {
      return Status::internal("{} sent rank {} where rank {} was due", root_.name, entry->rank,
                              rank);
    }
    payloads.push_back(std::move(entry->payload));
  }
  return payloads;
}

Result<std::vector<std::string>> joinRendezvous(const UniqueId& id,
                                                int rank,
                                                int ranks,
                                                std::string payload,
                                                const RendezvousSettings& settings) {
  const Result<std::unique_ptr<RendezvousSession>> session =
      RendezvousSession::open(id, rank, ranks, settings);
  RONDO_RETURN_IF_ERROR(session.status());
  return (*session)->allGather(std::move(payload));
}

}  // namespace rondo
