#include "src/bootstrap/doorkeeper.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/bootstrap/random_bytes.h"
#include "src/log.h"

namespace rondo {

namespace {

/// How long new guests wait when there are no file descriptors for them.
constexpr std::chrono::milliseconds kAcceptPause{50};
/// Connections taken in one turn, so that a flood of them does not keep others waiting.
constexpr int kMostAcceptedPerTurn = 64;
/// What is read at once.
constexpr std::size_t kReadBytes = 512;

}  // namespace

/// A connection that has not proved itself yet.
struct Doorkeeper::Guest {
  Guest(AcceptedConnection connection, const Parts& parts, const Nonce& nonce)
      : socket(std::move(connection.socket)),
        name(connection.peer.text()),
        handshake(parts.authenticator, parts.key, nonce) {}

  FileDescriptor socket;  ///< none: the guest has gone, or become a visitor
  std::string name;
  ServerHandshake handshake;
  Deadline deadline = Deadline::within(kHandshakeTimeout);
};

Doorkeeper::Doorkeeper(Parts parts) : parts_(std::move(parts)) {}

Doorkeeper::~Doorkeeper() = default;

void Doorkeeper::addEvents(std::vector<pollfd>& events) {
  accepting_ = acceptPause_.passed();
  const int listening = accepting_ ? parts_.listener.get() : -1;
  events.push_back({.fd = listening, .events = POLLIN, .revents = 0});
  for (const auto& guest : guests_)
    events.push_back({.fd = guest->socket.get(), .events = POLLIN, .revents = 0});
}

Deadline Doorkeeper::nextDeadline() const {
  Deadline next;
  if (!accepting_) next = acceptPause_;
  for (const auto& guest : guests_)
    next = earlier(next, guest->deadline);
  return next;
}

std::vector<Doorkeeper::Visitor> Doorkeeper::serve(std::span<const pollfd> events) {
  std::vector<Visitor> visitors;
  for (std::size_t at = 0; at < guests_.size(); ++at) {
    Guest& guest = *guests_[at];
    const Status status = events[at + 1].revents != 0 ? receive(guest) : Status();
    if (!status.ok()) {
      lose(guest, status);
    } else if (guest.handshake.done()) {
      visitors.push_back({std::move(guest.socket), guest.name, guest.handshake.peer()});
    } else if (guest.deadline.passed()) {
      lose(guest, Status::timeout("it did not get on in time"));
    }
  }
  if (events.front().revents != 0) takeConnections();
  std::erase_if(guests_, [](const auto& guest) { return !guest->socket.valid(); });
  return visitors;
}

void Doorkeeper::takeConnections() {
  for (int taken = 0; taken < kMostAcceptedPerTurn; ++taken) {
    Result<std::optional<AcceptedConnection>> accepted = acceptConnection(parts_.listener.get());
    if (!accepted.ok()) {
      pauseAccepting(accepted.status());
      return;
    }
    if (!accepted->has_value()) return;
    admit(**std::move(accepted));
  }
}

void Doorkeeper::admit(AcceptedConnection connection) {
  if (!mayCome(connection)) return;
  Nonce nonce{};
  if (const Status status = fillRandom(nonce); !status.ok()) {
    RONDO_LOG(kWarn, kCommunicator, "{}: {}", parts_.what, status.message());
    return;
  }
  if (guests_.size() >= kMostHalfOpen) evictOldest();
  guests_.push_back(std::make_unique<Guest>(std::move(connection), parts_, nonce));
}

bool Doorkeeper::mayCome(const AcceptedConnection& connection) {
  if (!parts_.privateOnly) return true;
  const Result<SocketAddress> here = localAddress(connection.socket.get());
  if (here.ok() && here->isPrivate() && connection.peer.isPrivate()) return true;
  logStranger(connection.peer.text(),
              Status::mismatch("without RONDO_SECRET only private networks are trusted"));
  return false;
}

void Doorkeeper::pauseAccepting(const Status& why) {
  acceptPause_ = Deadline::within(kAcceptPause);
  if (strangerQuota_.ask(LogQuota::Clock::now())) {
    RONDO_LOG(kWarn, kCommunicator, "{}: {}", parts_.what, why.message());
  }
  evictOldest();
}

/// The oldest: a rank needs two round trips, so the longer one is here the less likely it is one.
void Doorkeeper::evictOldest() {
  if (guests_.empty()) return;
  lose(*guests_.front(), Status::peerLost("it has to make room for newer connections"));
  guests_.erase(guests_.begin());
}

Status Doorkeeper::receive(Guest& guest) {
  std::array<std::byte, kReadBytes> buffer;
  while (!guest.handshake.done()) {
    const std::size_t most = std::min(buffer.size(), guest.handshake.wanted());
    const Result<std::size_t> received =
        recvSome(guest.socket.get(), std::span(buffer).first(most), "it");
    RONDO_RETURN_IF_ERROR(received.status());
    if (*received == 0) return {};
    const Status status = guest.handshake.receive(std::span(buffer).first(*received));
    const std::vector<std::byte> output = guest.handshake.takeOutput();
    // A new connection has room for so little; if not, this is no rank.
    RONDO_RETURN_IF_ERROR(sendAll(guest.socket.get(), output, Deadline::immediate(), "it"));
    RONDO_RETURN_IF_ERROR(status);
  }
  return {};
}

void Doorkeeper::lose(Guest& guest, const Status& why) {
  // Closing with bytes unread would take a hello that says "other version" back.
  std::array<std::byte, kReadBytes> unread;
  (void)recvSome(guest.socket.get(), unread, guest.name);
  guest.socket.reset();
  logStranger(guest.name, why);
}

void Doorkeeper::logStranger(std::string_view name, const Status& why) {
  const std::optional<std::size_t> withheld = strangerQuota_.ask(LogQuota::Clock::now());
  if (!withheld) return;
  const std::string others =
      *withheld > 0 ? fmt::format(" (and {} others not shown)", *withheld) : std::string{};
  RONDO_LOG(kWarn, kCommunicator, "{}: dropped a stranger at {}: {}{}", parts_.what, name,
            why.message(), others);
}

}  // namespace rondo
