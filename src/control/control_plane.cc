#include "src/control/control_plane.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <unistd.h>

#include "src/control/dialer.h"
#include "src/control/family_hint.h"
#include "src/log.h"
#include "src/net/address_list.h"
#include "src/net/event_signal.h"
#include "src/net/quiet_thread.h"

namespace rondo {

namespace {

/// Addresses that a rank tells the others: one of each family and a spare.
constexpr std::size_t kMostControlAddresses = 3;

/// For the goodbyes of a rank that leaves.
constexpr std::chrono::milliseconds kFarewell{1000};

constexpr std::size_t kMaxOpenDataBytes = 64;

}  // namespace

struct ControlPlane::Opening {
  FileDescriptor socket;  ///< none: it has opened, or was dropped
  int from = 0;
  FrameReader reader{kMaxOpenDataBytes};
  Deadline deadline{};
};

Result<std::unique_ptr<ControlPlane>> ControlPlane::open(const ControlSettings& settings,
                                                         const SecretKey& key) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  Result<FileDescriptor> listener = listenEverywhere(settings.ports);
  RONDO_RETURN_IF_ERROR(listener.status());
  const Result<SocketAddress> listening = localAddress(listener->get());
  RONDO_RETURN_IF_ERROR(listening.status());
  Result<std::vector<SocketAddress>> addresses = addressesToAdvertise(
      settings.addresses, *listening, kMostControlAddresses, fmt::format("rank {}", settings.rank));
  RONDO_RETURN_IF_ERROR(addresses.status());
  Result<FileDescriptor> wake = makeEventSignal();
  RONDO_RETURN_IF_ERROR(wake.status());
  return std::unique_ptr<ControlPlane>(new ControlPlane(settings, key, *authenticator,
                                                        *std::move(listener), *std::move(wake),
                                                        *std::move(addresses)));
}

ControlPlane::ControlPlane(const ControlSettings& settings,
                           const SecretKey& key,
                           const MessageAuthenticator& authenticator,
                           FileDescriptor listener,
                           FileDescriptor wake,
                           std::vector<SocketAddress> addresses)
    : settings_(settings),
      key_(key),
      wake_(std::move(wake)),
      addresses_(std::move(addresses)),
      door_(std::in_place,
            Doorkeeper::Parts{.listener = std::move(listener),
                              .key = key,
                              .authenticator = authenticator,
                              .what = "ranks' connections",
                              .privateOnly = settings.privateOnly}) {}

ControlPlane::~ControlPlane() {
  leave();
}

void ControlPlane::leave() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& link : links_)
      appendNews(link->output(), ControlMessage::kGoodbye, subject_->newsFor(link->peer()));
    leaving_ = Deadline::within(kFarewell);
  }
  wake();
  thread_.join();
  const std::scoped_lock lock(mutex_);
  links_.clear();
  openings_.clear();
  arrived_.clear();
  door_.reset();  // whoever still comes is refused
}

Status ControlPlane::start(ControlSubject& subject) {
  if (thread_.joinable()) return {};
  subject_ = &subject;
  Result<std::thread> thread = startQuietThread("rondo-control", [this] { run(); });
  RONDO_RETURN_IF_ERROR(thread.status());
  thread_ = *std::move(thread);
  return {};
}

std::string ControlPlane::addressWord() const {
  return listAddresses(addresses_, ",");
}

Status ControlPlane::learnPeers(const std::vector<std::string>& words) {
  peers_.resize(words.size());
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    if (words[rank].empty()) continue;
    Result<std::vector<SocketAddress>> addresses = parseAddresses(words[rank], ',');
    if (!addresses.ok()) {
      return addresses.status().withContext(fmt::format("the addresses of rank {}", rank));
    }
    peers_[rank] = *std::move(addresses);
  }
  return {};
}

/// A binary tree in which every rank's parent is lower.
int ControlPlane::treeParent() const {
  return settings_.rank == 0 ? -1 : (settings_.rank - 1) / 2;
}

Status ControlPlane::joinTree(Deadline deadline) {
  return settings_.rank == 0 ? Status() : link(treeParent(), deadline);
}

Status ControlPlane::link(int peer, Deadline deadline) {
  {
    const std::scoped_lock lock(mutex_);
    if (findLink(peer) != nullptr) return {};
  }
  Result<FileDescriptor> socket = dial(peer, PeerRole::kControl, deadline);
  RONDO_RETURN_IF_ERROR(socket.status());
  {
    const std::scoped_lock lock(mutex_);
    addLink(peer, *std::move(socket));
  }
  wake();
  return {};
}

Result<FileDescriptor> ControlPlane::dial(int peer, PeerRole role, Deadline deadline) const {
  const PeerIdentity self{.role = role, .rank = settings_.rank, .ranks = settings_.ranks};
  const auto givenUp = [this] {
    const std::scoped_lock lock(mutex_);
    return failure_;
  };
  const std::vector<SocketAddress>& addresses = peers_[static_cast<std::size_t>(peer)];
  Result<FileDescriptor> socket = dialRank(peer, addresses, key_, self, deadline, givenUp);
  const StatusCode code = socket.status().code();
  if (code != StatusCode::kPeerLost && code != StatusCode::kTimeout) return socket;
  return Status(code, std::string(socket.status().message()) +
                          familyHint({settings_.rank, addresses_}, {peer, addresses}));
}

Result<FileDescriptor> ControlPlane::dialData(int peer,
                                              const OpenData& opening,
                                              Deadline deadline) const {
  Result<FileDescriptor> socket = dial(peer, PeerRole::kData, deadline);
  RONDO_RETURN_IF_ERROR(socket.status());
  std::vector<std::byte> bytes;
  appendOpenData(bytes, opening);
  RONDO_RETURN_IF_ERROR(sendAll(socket->get(), bytes, deadline, fmt::format("rank {}", peer)));
  return socket;
}

void ControlPlane::ask(int peer) {
  const std::scoped_lock lock(mutex_);
  ControlLink* const link = findLink(peer);
  // One question at a time: the answer to the last one is on its way, or the peer does not read.
  if (link == nullptr || link->hasOutput()) return;
  appendAsk(link->output());
  wake();
}

void ControlPlane::spread(const Status& failure) {
  const std::scoped_lock lock(mutex_);
  spreadLocked(failure, nullptr);
  wake();
}

std::optional<ControlPlane::DataSocket> ControlPlane::takeDataSocket(DataWire wire,
                                                                     int from,
                                                                     int channel) {
  const std::scoped_lock lock(mutex_);
  auto node = arrived_.extract(DataKey{wire, from, channel});
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

std::optional<ControlPlane::DataSocket> ControlPlane::takeDataSocket(DataWire wire) {
  const std::scoped_lock lock(mutex_);
  const auto first = arrived_.lower_bound(DataKey{wire, 0, 0});
  if (first == arrived_.end() || std::get<DataWire>(first->first) != wire) return std::nullopt;
  return std::move(arrived_.extract(first).mapped());
}

void ControlPlane::wake() const {
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the thread is awake.
  (void)!::write(wake_.get(), &one, sizeof one);
}

// The thread.

void ControlPlane::run() {
  for (;;) {
    Deadline deadline;
    {
      const std::scoped_lock lock(mutex_);
      if (over()) return;
      collectEvents();
      deadline = nextDeadline();
    }
    if (::poll(events_.data(), events_.size(), deadline.pollTimeout()) < 0) {
      // Interrupted, or short of memory for a moment: nothing has happened.
      for (pollfd& event : events_)
        event.revents = 0;
    }
    const std::scoped_lock lock(mutex_);
    handleEvents();
  }
}

bool ControlPlane::over() const {
  if (!leaving_) return false;
  const bool allSaid =
      std::ranges::none_of(links_, [](const auto& link) { return link->hasOutput(); });
  return allSaid || leaving_->passed();
}

void ControlPlane::collectEvents() {
  events_.clear();
  events_.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const auto& link : links_) {
    const int wishes = link->hasOutput() ? POLLIN | POLLOUT : POLLIN;
    events_.push_back({.fd = link->socket(), .events = static_cast<short>(wishes), .revents = 0});
  }
  polledLinks_ = links_.size();
  for (const auto& opening : openings_)
    events_.push_back({.fd = opening->socket.get(), .events = POLLIN, .revents = 0});
  doorEvents_ = events_.size();
  door_->addEvents(events_);
}

Deadline ControlPlane::nextDeadline() const {
  Deadline next = door_->nextDeadline();
  if (leaving_) next = earlier(next, *leaving_);
  for (const auto& opening : openings_)
    next = earlier(next, opening->deadline);
  return next;
}

void ControlPlane::handleEvents() {
  if (events_.front().revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
  }
  for (Doorkeeper::Visitor& visitor : door_->serve(std::span(events_).subspan(doorEvents_)))
    welcome(std::move(visitor));
  // Before the links: a rank that sends its data and ends must not be found dead before its data
  // is found.
  for (const auto& opening : openings_)
    serveOpening(*opening);
  // Links that were appended meanwhile, by others or just now, come next time.
  for (std::size_t i = 0; i < polledLinks_; ++i)
    serveLink(*links_[i], events_[1 + i].revents);
  std::erase_if(links_, [](const auto& link) { return link->ended(); });
  std::erase_if(openings_, [](const auto& opening) { return !opening->socket.valid(); });
}

void ControlPlane::welcome(Doorkeeper::Visitor visitor) {
  const PeerIdentity& who = visitor.identity;
  const bool known = who.ranks == settings_.ranks && who.rank >= 0 && who.rank < settings_.ranks;
  if (known && who.role == PeerRole::kControl) {
    addLink(who.rank, std::move(visitor.socket));
  } else if (known && who.role == PeerRole::kData) {
    openings_.push_back(
        std::make_unique<Opening>(Opening{.socket = std::move(visitor.socket),
                                          .from = who.rank,
                                          .deadline = Deadline::within(settings_.openingTimeout)}));
  } else {
    RONDO_LOG(kWarn, kCommunicator, LogContext{.rank = settings_.rank},
              "dropped rank {} of {} at {}, which came for another service, {}", who.rank,
              who.ranks, visitor.name, static_cast<int>(who.role));
  }
}

void ControlPlane::addLink(int peer, FileDescriptor socket) {
  links_.push_back(std::make_unique<ControlLink>(peer, std::move(socket)));
  if (leaving_) {
    appendNews(links_.back()->output(), ControlMessage::kGoodbye, subject_->newsFor(peer));
  }
  if (!failure_.ok()) appendControlFailure(links_.back()->output(), failure_);
}

ControlLink* ControlPlane::findLink(int peer) {
  const auto found = std::ranges::find_if(
      links_, [peer](const auto& link) { return link->peer() == peer && !link->ended(); });
  return found == links_.end() ? nullptr : found->get();
}

void ControlPlane::serveLink(ControlLink& link, short events) {
  Status status = events != 0 ? receiveFrames(link) : Status();
  if (status.ok()) {
    status = link.send();
    // A goodbye may have come just before the end that sending has found.
    if (!status.ok()) (void)receiveFrames(link);
  }
  if (status.ok()) return;
  if (!link.saidGoodbye()) {
    subject_->learnLoss(link.peer(), fmt::format("its process has ended ({})", status.message()));
  }
  link.end();
}

/// Handles all frames that are there.
Status ControlPlane::receiveFrames(ControlLink& link) {
  for (;;) {
    const Result<std::optional<Frame>> frame = link.receive();
    RONDO_RETURN_IF_ERROR(frame.status());
    if (!frame->has_value()) return {};
    onFrame(link, **frame);
  }
}

void ControlPlane::onFrame(ControlLink& link, const Frame& frame) {
  switch (static_cast<ControlMessage>(frame.type)) {
    case ControlMessage::kAsk:
      appendNews(link.output(), ControlMessage::kNews, subject_->newsFor(link.peer()));
      return;
    case ControlMessage::kGoodbye:
      link.noteGoodbye();
      [[fallthrough]];
    case ControlMessage::kNews:
      if (const Result<RankNews> news = readNews(frame); news.ok()) {
        subject_->learn(link.peer(), *news);
      }
      return;
    case ControlMessage::kFailure: {
      const Status failure = readControlFailure(frame);
      subject_->learnFailure(failure);
      spreadLocked(failure, &link);
      return;
    }
    case ControlMessage::kOpenData:
      break;
  }
  RONDO_LOG(kWarn, kCommunicator, LogContext{.rank = settings_.rank},
            "rank {} sent a message of type {} that has no place here; ignored", link.peer(),
            frame.type);
}

void ControlPlane::spreadLocked(const Status& failure, const ControlLink* except) {
  if (failure.ok() || !failure_.ok()) return;
  failure_ = failure;
  for (const auto& link : links_) {
    if (link.get() == except || link->ended()) continue;
    appendControlFailure(link->output(), failure);
    // At once: the process may end before the thread wakes. The thread finds what is wrong here.
    (void)link->send();
  }
}

void ControlPlane::serveOpening(Opening& opening) {
  Status status = receiveOpening(opening);
  if (status.ok() && opening.socket.valid() && opening.deadline.passed()) {
    status = Status::timeout("it did not say what it is for");
  }
  if (status.ok()) return;
  RONDO_LOG(kWarn, kCommunicator, LogContext{.rank = settings_.rank},
            "dropped a data connection of rank {}: {}", opening.from, status.message());
  opening.socket.reset();
}

Status ControlPlane::receiveOpening(Opening& opening) {
  std::array<std::byte, kMaxOpenDataBytes> buffer;
  while (!opening.reader.complete()) {
    // No byte beyond the frame: what follows it is data.
    const std::size_t most = std::min(buffer.size(), opening.reader.wanted());
    const Result<std::size_t> received =
        recvSome(opening.socket.get(), std::span(buffer).first(most), "it");
    RONDO_RETURN_IF_ERROR(received.status());
    if (*received == 0) return {};
    RONDO_RETURN_IF_ERROR(opening.reader.receive(std::span(buffer).first(*received)));
  }
  const Result<OpenData> open = readOpenData(opening.reader.take());
  RONDO_RETURN_IF_ERROR(open.status());
  arrived_.insert_or_assign(DataKey{open->wire, opening.from, open->channel},
                            DataSocket{opening.from, *open, std::move(opening.socket)});
  return {};
}

}  // namespace rondo
