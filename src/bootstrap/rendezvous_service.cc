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
    kJoining,      ///< knows the secret; its Join is to come, or after the first round its Farewell
    kWaiting,      ///< entered in the roster; must be silent now
    kAnswering,    ///< is being sent the answer of its round
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
  Answer answer;          ///< in kAnswering
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
  if (anyoneIs(Guest::kAnswering)) return false;
  return stopping_ || (!parts_.listener.valid() && guests_.empty());
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

bool RendezvousService::mayCome(const AcceptedConnection& connection) {
  if (!parts_.privateOnly) return true;
  const Result<SocketAddress> here = localAddress(connection.socket.get());
  if (here.ok() && here->isPrivate() && connection.peer.isPrivate()) return true;
  logStranger(connection.peer.text(),
              Status::mismatch("without RONDO_SECRET only private networks are trusted"));
  return false;
}

void RendezvousService::admit(AcceptedConnection connection) {
  if (!mayCome(connection)) return;
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
  guest.stage = guest.identity.role == PeerRole::kProbe ? Guest::kGone : Guest::kJoining;
  if (guest.stage == Guest::kGone || guest.identity.role == PeerRole::kRendezvous) return {};
  return Status::peerLost("it came for another service, {}", static_cast<int>(guest.identity.role));
}

Status RendezvousService::onFrame(Guest& guest, std::span<const std::byte> bytes) {
  RONDO_RETURN_IF_ERROR(guest.frames.receive(bytes));
  if (!guest.frames.complete()) return {};
  const Frame frame = guest.frames.take();
  if (isFarewell(frame)) {
    part(guest);
    return {};
  }
  Result<JoinMessage> join = readJoin(frame);
  RONDO_RETURN_IF_ERROR(join.status());
  enter(guest, *std::move(join));
  return {};
}

void RendezvousService::enter(Guest& guest, JoinMessage join) {
  guest.stage = Guest::kWaiting;
  guest.deadline = Deadline::within(join.patience);
  if (failure_ != nullptr) {
    startAnswer(guest, failure_);
    return;
  }
  RONDO_LOG(kDebug, kCommunicator, "rendezvous: rank {} of {} joined round {} from {}",
            guest.identity.rank, guest.identity.ranks, join.round, guest.name);
  Status status = roster_.enter(guest.identity, std::move(join), guest.name);
  if (status.ok()) status = roster_.hopeless();
  if (!status.ok()) {
    fail(status);
  } else if (roster_.complete()) {
    succeed();
  }
}

void RendezvousService::startAnswer(Guest& guest, const Answer& answer) {
  guest.stage = Guest::kAnswering;
  guest.deadline = Deadline::within(stopping_ ? kFarewellTimeout : kAnswerTimeout);
  guest.answer = answer;
  guest.answeredBytes = 0;
  serve(guest);
}

Status RendezvousService::sendAnswer(Guest& guest) {
  const auto rest = std::span<const std::byte>(*guest.answer).subspan(guest.answeredBytes);
  const Result<std::size_t> sent = sendSome(guest.socket.get(), rest, "it");
  RONDO_RETURN_IF_ERROR(sent.status());
  guest.answeredBytes += *sent;
  if (guest.answeredBytes == guest.answer->size()) onAnswered(guest);
  return {};
}

void RendezvousService::onAnswered(Guest& guest) {
  const bool wasFailure = guest.answer == failure_;
  guest.answer.reset();
  guest.stage = wasFailure ? Guest::kGone : Guest::kJoining;
  // What a rank does between two rounds may take any time; those that wait for it are impatient.
  if (!stopping_) guest.deadline = Deadline{};
}

void RendezvousService::part(Guest& guest) {
  guest.stage = Guest::kGone;
  roster_.depart(guest.identity.rank, guest.name, Departure::kFarewell);
  if (const Status status = roster_.hopeless(); !status.ok()) fail(status);
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
    logStranger(guest.name, why);
    // Closing with bytes unread would take a hello that says "other version" back.
    std::array<std::byte, kReadBytes> unread;
    (void)recvSome(guest.socket.get(), unread, guest.name);
  } else {
    logTrouble(Status(why).withContext(fmt::format("lost rank {} at {}", rank, guest.name)));
  }
  guest.socket.reset();
  const bool isMember = stage == Guest::kWaiting || roster_.round() > 0;
  if (stage == Guest::kHandshaking || !isMember) return;
  roster_.depart(rank, guest.name, Departure::kLost);
  if (const Status status = roster_.hopeless(); !status.ok()) fail(status);
}

void RendezvousService::logStranger(std::string_view name, const Status& why) {
  const std::optional<std::size_t> withheld = strangerQuota_.ask(LogQuota::Clock::now());
  if (!withheld) return;
  const std::string others =
      *withheld > 0 ? fmt::format(" (and {} others not shown)", *withheld) : std::string{};
  RONDO_LOG(kWarn, kCommunicator, "rendezvous: dropped a stranger at {}: {}{}", name, why.message(),
            others);
}

void RendezvousService::succeed() {
  const auto table = std::make_shared<const std::vector<std::byte>>(roster_.table());
  if (roster_.round() == 0) closeDoor();
  roster_.startNextRound();
  answerAll(table);
}

/// All have come; whoever else is here, or connects, is a stranger.
void RendezvousService::closeDoor() {
  parts_.listener.reset();
  for (const auto& guest : guests_) {
    if (guest->stage >= Guest::kWaiting) continue;
    guest->stage = Guest::kGone;
    RONDO_LOG(kDebug, kCommunicator, "rendezvous: all ranks are here, {} is none of them",
              guest->name);
  }
}

void RendezvousService::fail(const Status& why) {
  if (failure_ != nullptr) return;  // it has failed already, and this came of it
  RONDO_LOG(kWarn, kCommunicator, "rendezvous failed: {}", why.message());
  std::vector<std::byte> failure;
  appendFailure(failure, why);
  failure_ = std::make_shared<const std::vector<std::byte>>(std::move(failure));
  answerAll(failure_);
}

void RendezvousService::answerAll(const Answer& answer) {
  for (const auto& guest : guests_) {
    if (guest->stage == Guest::kWaiting) startAnswer(*guest, answer);
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
