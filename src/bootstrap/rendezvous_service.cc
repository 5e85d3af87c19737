#include "src/bootstrap/rendezvous_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/log.h"

namespace rondo {

namespace {

/// For a guest to take its answer. Long, as a rank on a slow network may have megabytes to read.
constexpr std::chrono::milliseconds kAnswerTimeout = std::chrono::seconds{30};
/// The same once the owner wants to go.
constexpr std::chrono::milliseconds kFarewellTimeout = std::chrono::seconds{2};
/// What is read at once.
constexpr std::size_t kServiceReadBytes = 4096;

void logTrouble(const Status& what) {
  RONDO_LOG(kWarn, kCommunicator, "rendezvous: {}", what.message());
}

enum Event : std::size_t { kStopEvent, kFirstGuestEvent };

}  // namespace

/// A rank, or somebody else who knows the secret, from the moment the door is opened to it.
struct RendezvousService::Guest {
  enum Stage {
    kJoining,    ///< its Join is to come, or after the first round its Farewell
    kWaiting,    ///< entered in the roster; must be silent now
    kAnswering,  ///< is being sent the answer of its round
    kGone,       ///< to be removed
  };

  explicit Guest(Doorkeeper::Visitor visitor)
      : socket(std::move(visitor.socket)),
        name(std::move(visitor.name)),
        identity(visitor.identity) {}

  /// How many bytes may be read from it now; 1 where there should be none, to see its end.
  std::size_t wanted() const { return stage == kJoining ? frames.wanted() : 1; }

  FileDescriptor socket;
  std::string name;  ///< its address
  PeerIdentity identity;
  Stage stage = kJoining;
  Deadline deadline = Deadline::within(kHandshakeTimeout);
  FrameReader frames{kMaxJoinBytes};
  Answer answer;  ///< in kAnswering
  std::size_t answeredBytes = 0;
};

RendezvousService::RendezvousService(Parts parts) : stopSignal_(parts.stopSignal) {
  door_.emplace(Doorkeeper::Parts{.listener = std::move(parts.listener),
                                  .key = parts.key,
                                  .authenticator = parts.authenticator,
                                  .what = "rendezvous",
                                  .privateOnly = parts.privateOnly});
}

RendezvousService::~RendezvousService() = default;

void RendezvousService::run() {
  while (!finished()) {
    waitForEvents();
    const std::size_t known = guests_.size();
    std::vector<Doorkeeper::Visitor> visitors;
    if (door_) visitors = door_->serve(std::span(events_).subspan(kFirstGuestEvent + known));
    if (events_[kStopEvent].revents != 0) stop();
    for (std::size_t at = 0; at < known; ++at) {
      Guest& guest = *guests_[at];
      if (events_[at + kFirstGuestEvent].revents != 0) serve(guest);
      enforceDeadline(guest);
    }
    for (Doorkeeper::Visitor& visitor : visitors)
      welcome(std::move(visitor));
    std::erase_if(guests_, [](const auto& guest) { return guest->stage == Guest::kGone; });
  }
}

bool RendezvousService::finished() const {
  if (anyoneIs(Guest::kAnswering)) return false;
  return stopping_ || (!door_ && guests_.empty());
}

bool RendezvousService::anyoneIs(int stage) const {
  return std::any_of(guests_.begin(), guests_.end(),
                     [stage](const auto& guest) { return guest->stage == stage; });
}

void RendezvousService::waitForEvents() {
  events_.clear();
  events_.push_back({.fd = stopping_ ? -1 : stopSignal_, .events = POLLIN, .revents = 0});
  for (const auto& guest : guests_) {
    const short wish = guest->stage == Guest::kAnswering ? POLLOUT : POLLIN;
    events_.push_back({.fd = guest->socket.get(), .events = wish, .revents = 0});
  }
  if (door_) door_->addEvents(events_);
  if (::poll(events_.data(), events_.size(), nextDeadline().pollTimeout()) >= 0) return;
  // Interrupted, or short of memory for a moment: nothing has happened.
  for (pollfd& event : events_)
    event.revents = 0;
}

Deadline RendezvousService::nextDeadline() const {
  Deadline next;
  if (door_) next = door_->nextDeadline();
  for (const auto& guest : guests_)
    next = earlier(next, guest->deadline);
  return next;
}

void RendezvousService::welcome(Doorkeeper::Visitor visitor) {
  const PeerRole role = visitor.identity.role;
  if (!door_ || role == PeerRole::kProbe) return;
  guests_.push_back(std::make_unique<Guest>(std::move(visitor)));
  if (role == PeerRole::kRendezvous) return;
  lose(*guests_.back(),
       Status::peerLost("it came for another service, {}", static_cast<int>(role)));
}

void RendezvousService::serve(Guest& guest) {
  if (guest.stage == Guest::kGone) return;
  const Status status = guest.stage == Guest::kAnswering ? sendAnswer(guest) : receive(guest);
  if (!status.ok()) lose(guest, status);
}

Status RendezvousService::receive(Guest& guest) {
  std::array<std::byte, kServiceReadBytes> buffer;
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
  if (guest.stage == Guest::kJoining) return onFrame(guest, bytes);
  return Status::peerLost("it spoke out of turn");
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
  logTrouble(Status(why).withContext(fmt::format("lost rank {} at {}", rank, guest.name)));
  guest.socket.reset();
  const bool isMember = stage == Guest::kWaiting || roster_.round() > 0;
  if (!isMember) return;
  roster_.depart(rank, guest.name, Departure::kLost);
  if (const Status status = roster_.hopeless(); !status.ok()) fail(status);
}

void RendezvousService::succeed() {
  const auto table = std::make_shared<const std::vector<std::byte>>(roster_.table());
  if (roster_.round() == 0) closeDoor();
  roster_.startNextRound();
  answerAll(table);
}

/// All have come; whoever else is here, or connects, is a stranger.
void RendezvousService::closeDoor() {
  door_.reset();
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
  door_.reset();
  if (anyoneIs(Guest::kWaiting)) {
    fail(
        Status::aborted("the process that made the unique id ended its rendezvous before all ranks "
                        "had joined"));
  }
  for (const auto& guest : guests_)
    guest->deadline = earlier(guest->deadline, Deadline::within(kFarewellTimeout));
}

}  // namespace rondo
