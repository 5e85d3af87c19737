#include "src/bootstrap/rendezvous_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/bootstrap/random_bytes.h"
#include "src/log.h"

namespace rondo {

namespace {

/// For a guest to take its answer. Long, as a rank on a slow network may have megabytes to read.
constexpr std::chrono::milliseconds kAnswerTimeout = std::chrono::seconds{30};
/// The same once the owner wants to go.
constexpr std::chrono::milliseconds kFarewellTimeout = std::chrono::seconds{2};
/// How long new guests wait when there are no file descriptors for them.
constexpr std::chrono::milliseconds kAcceptPause{50};
/// Connections taken in one turn, so that a flood of them does not keep others waiting.
constexpr int kMostAcceptedPerTurn = 64;
/// What is read at once.
constexpr std::size_t kReadBytes = 4096;

void logTrouble(const Status& what) {
  RONDO_LOG(kWarn, kCommunicator, "rendezvous: {}", what.message());
}

enum Event : std::size_t { kStopEvent, kListenerEvent, kFirstGuestEvent };

}  // namespace

/// One connection, from the moment it is taken to the moment it is closed.
struct RendezvousService::Guest {
  enum Stage {
    kHandshaking,  ///< a stranger until proved otherwise
    kJoining,      ///< knows the secret; its Join is to come
    kWaiting,      ///< entered in the roster; must be silent now
    kAnswering,    ///< is being sent the answer
    kGone,         ///< to be removed
  };

  Guest(AcceptedConnection connection, const Parts& parts, const Nonce& nonce)
      : socket(std::move(connection.socket)),
        name(connection.peer.text()),
        handshake(parts.authenticator, parts.key, nonce) {}

  /// How many bytes may be read from it now; 1 where there should be none, to see its end.
  std::size_t wanted() const {
    if (stage == kHandshaking) return handshake.wanted();
    return stage == kJoining ? frames.wanted() : 1;
  }

  bool isStranger() const { return stage == kHandshaking; }

  FileDescriptor socket;
  std::string name;  ///< its address
  Stage stage = kHandshaking;
  Deadline deadline = Deadline::within(kHandshakeTimeout);
  ServerHandshake handshake;
  FrameReader frames{kMaxJoinBytes};
  PeerIdentity identity;  ///< from kJoining on
  std::size_t answeredBytes = 0;
};

RendezvousService::RendezvousService(Parts parts) : parts_(std::move(parts)) {}

RendezvousService::~RendezvousService() = default;

void RendezvousService::run() {
  while (!finished()) {
    waitForEvents();
    if (events_[kStopEvent].revents != 0) stop();
    for (std::size_t at = 0; at + kFirstGuestEvent < events_.size(); ++at) {
      Guest& guest = *guests_[at];
      if (events_[at + kFirstGuestEvent].revents != 0) serve(guest);
      enforceDeadline(guest);
    }
    if (events_[kListenerEvent].revents != 0) takeConnections();
    std::erase_if(guests_, [](const auto& guest) { return guest->stage == Guest::kGone; });
  }
}

bool RendezvousService::finished() const {
  const bool decided = stopping_ || (!answer_.empty() && !failed_);
  return decided && !anyoneIs(Guest::kAnswering);
}

bool RendezvousService::anyoneIs(int stage) const {
  return std::any_of(guests_.begin(), guests_.end(),
                     [stage](const auto& guest) { return guest->stage == stage; });
}

void RendezvousService::waitForEvents() {
  const bool accepting = parts_.listener.valid() && acceptPause_.passed();
  events_.clear();
  events_.push_back({.fd = stopping_ ? -1 : parts_.stopSignal, .events = POLLIN, .revents = 0});
  events_.push_back({.fd = accepting ? parts_.listener.get() : -1, .events = POLLIN, .revents = 0});
  for (const auto& guest : guests_) {
    const short wish = guest->stage == Guest::kAnswering ? POLLOUT : POLLIN;
    events_.push_back({.fd = guest->socket.get(), .events = wish, .revents = 0});
  }
  if (::poll(events_.data(), events_.size(), nextDeadline().pollTimeout()) >= 0) return;
  // Interrupted, or short of memory for a moment: nothing has happened.
  for (pollfd& event : events_)
    event.revents = 0;
}

Deadline RendezvousService::nextDeadline() const {
  Deadline next;
  if (!acceptPause_.passed()) next = acceptPause_;
  for (const auto& guest : guests_)
    next = earlier(next, guest->deadline);
  return next;
}

void RendezvousService::takeConnections() {
  for (int taken = 0; parts_.listener.valid() && taken < kMostAcceptedPerTurn; ++taken) {
    Result<std::optional<AcceptedConnection>> accepted = acceptConnection(parts_.listener.get());
    if (!accepted.ok()) {
      return pauseAccepting(accepted.status());
    }
    if (!accepted->has_value()) return;
    admit(**std::move(accepted));
  }
}

void RendezvousService::pauseAccepting(const Status& why) {
  acceptPause_ = Deadline::within(kAcceptPause);
  if (strangerQuota_.ask(LogQuota::Clock::now())) logTrouble(why);
  evictOldestStranger();
}

void RendezvousService::admit(AcceptedConnection connection) {
  Nonce nonce{};
  if (const Status status = fillRandom(nonce); !status.ok()) return logTrouble(status);
  const auto strangers = std::count_if(guests_.begin(), guests_.end(),
                                       [](const auto& guest) { return guest->isStranger(); });
  if (static_cast<std::size_t>(strangers) >= kMostHalfOpen) evictOldestStranger();
  guests_.push_back(std::make_unique<Guest>(std::move(connection), parts_, nonce));
}

void RendezvousService::evictOldestStranger() {
  // The oldest: a rank needs two round trips, so the longer one is here the less likely it is one.
  const auto oldest = std::find_if(guests_.begin(), guests_.end(),
                                   [](const auto& guest) { return guest->isStranger(); });
  if (oldest == guests_.end()) return;
  lose(**oldest, Status::peerLost("it has to make room for newer connections"));
}

void RendezvousService::serve(Guest& guest) {
  if (guest.stage == Guest::kGone) return;
  const Status status = guest.stage == Guest::kAnswering ? sendAnswer(guest) : receive(guest);
  if (!status.ok()) lose(guest, status);
}

Status RendezvousService::receive(Guest& guest) {
  std::array<std::byte, kReadBytes> buffer;
  while (guest.stage < Guest::kAnswering) {
    const std::size_t most = std::min(buffer.size(), guest.wanted());
    const Result<std::size_t> received =
        recvSome(guest.socket.get(), std::span(buffer).first(most), "it");
    RONDO_RETURN_IF_ERROR(received.status());
    if (*received == 0) return {};
    RONDO_RETURN_IF_ERROR(advance(guest, std::span(buffer).first(*received)));
  }
  return {};
}

Status RendezvousService::advance(Guest& guest, std::span<const std::byte> bytes) {
  if (guest.stage == Guest::kHandshaking) return onHandshake(guest, bytes);
  if (guest.stage == Guest::kJoining) return onFrame(guest, bytes);
  return Status::peerLost("it spoke out of turn");
}

Status RendezvousService::onHandshake(Guest& guest, std::span<const std::byte> bytes) {
  const Status status = guest.handshake.receive(bytes);
  const std::vector<std::byte> output = guest.handshake.takeOutput();
  // A new connection has room for so little; if not, this is no rank.
  RONDO_RETURN_IF_ERROR(sendAll(guest.socket.get(), output, Deadline::immediate(), "it"));
  RONDO_RETURN_IF_ERROR(status);
  if (!guest.handshake.done()) return {};
  guest.identity = guest.handshake.peer();
  guest.stage = Guest::kJoining;
  if (guest.identity.role == PeerRole::kRendezvous) return {};
  return Status::peerLost("it came for another service, {}", static_cast<int>(guest.identity.role));
}

Status RendezvousService::onFrame(Guest& guest, std::span<const std::byte> bytes) {
  RONDO_RETURN_IF_ERROR(guest.frames.receive(bytes));
  if (!guest.frames.complete()) return {};
  Result<JoinMessage> join = readJoin(guest.frames.take());
  RONDO_RETURN_IF_ERROR(join.status());
  enter(guest, *std::move(join));
  return {};
}

void RendezvousService::enter(Guest& guest, JoinMessage join) {
  guest.stage = Guest::kWaiting;
  guest.deadline = Deadline::within(join.patience);
  if (!answer_.empty()) {
    startAnswer(guest);
    return;
  }
  RONDO_LOG(kDebug, kCommunicator, "rendezvous: rank {} of {} joined from {}", guest.identity.rank,
            guest.identity.ranks, guest.name);
  const Status status = roster_.enter(guest.identity, std::move(join.payload), guest.name);
  if (!status.ok()) {
    fail(status);
  } else if (roster_.complete()) {
    succeed();
  }
}

void RendezvousService::startAnswer(Guest& guest) {
  guest.stage = Guest::kAnswering;
  guest.deadline = Deadline::within(stopping_ ? kFarewellTimeout : kAnswerTimeout);
  serve(guest);
}

Status RendezvousService::sendAnswer(Guest& guest) {
  const auto rest = std::span<const std::byte>(answer_).subspan(guest.answeredBytes);
  const Result<std::size_t> sent = sendSome(guest.socket.get(), rest, "it");
  RONDO_RETURN_IF_ERROR(sent.status());
  guest.answeredBytes += *sent;
  if (guest.answeredBytes == answer_.size()) guest.stage = Guest::kGone;
  return {};
}

void RendezvousService::enforceDeadline(Guest& guest) {
  if (guest.stage == Guest::kGone || !guest.deadline.passed()) return;
  if (guest.stage == Guest::kWaiting) {
    fail(roster_.overdue());
  } else {
    lose(guest, Status::timeout("it did not get on in time"));
  }
}

void RendezvousService::lose(Guest& guest, const Status& why) {
  const Guest::Stage stage = std::exchange(guest.stage, Guest::kGone);
  const int rank = guest.identity.rank;
  if (stage == Guest::kHandshaking) {
    logStranger(guest, why);
    // Closing with bytes unread would take a hello that says "other version" back.
    std::array<std::byte, kReadBytes> unread;
    (void)recvSome(guest.socket.get(), unread, guest.name);
  } else {
    logTrouble(Status(why).withContext(fmt::format("lost rank {} at {}", rank, guest.name)));
  }
  guest.socket.reset();
  if (stage == Guest::kWaiting) fail(roster_.departure(rank));
}

void RendezvousService::logStranger(const Guest& guest, const Status& why) {
  const std::optional<std::size_t> withheld = strangerQuota_.ask(LogQuota::Clock::now());
  if (!withheld) return;
  const std::string others =
      *withheld > 0 ? fmt::format(" (and {} others not shown)", *withheld) : std::string{};
  RONDO_LOG(kWarn, kCommunicator, "rendezvous: dropped a stranger at {}: {}{}", guest.name,
            why.message(), others);
}

void RendezvousService::succeed() {
  // All have come; whoever else connects is a stranger.
  parts_.listener.reset();
  decide(roster_.table());
}

void RendezvousService::fail(const Status& why) {
  if (!answer_.empty()) return;  // it has failed already, and this came of it
  RONDO_LOG(kWarn, kCommunicator, "rendezvous failed: {}", why.message());
  failed_ = true;
  std::vector<std::byte> answer;
  appendFailure(answer, why);
  decide(std::move(answer));
}

void RendezvousService::decide(std::vector<std::byte> answer) {
  answer_ = std::move(answer);
  for (const auto& guest : guests_) {
    if (guest->stage == Guest::kWaiting) startAnswer(*guest);
  }
}

void RendezvousService::stop() {
  stopping_ = true;
  parts_.listener.reset();
  if (anyoneIs(Guest::kWaiting)) {
    fail(
        Status::aborted("the process that made the unique id ended its rendezvous before all ranks "
                        "had joined"));
  }
  for (const auto& guest : guests_)
    guest->deadline = earlier(guest->deadline, Deadline::within(kFarewellTimeout));
}

}  // namespace rondo
