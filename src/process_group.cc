#include "src/process_group.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include <poll.h>

#include "src/bootstrap/roster.h"
#include "src/log.h"

namespace rondo {

namespace {

/// Sleeps of a rank that waits for sockets, when its memory may change too.
constexpr std::chrono::microseconds kBlindNap{50};

/// Sleeps while something waits for room in a socket.
constexpr std::chrono::microseconds kSendNap{500};

/// One try to reach a rank at all its addresses, between looks whether the communicator has failed.
constexpr std::chrono::milliseconds kLinkTry{8000};

/// Between looks for an answer: a round trip in a data centre takes 20 to 100 us.
constexpr std::chrono::microseconds kAnswerPoll{200};

/// What a rank said on its control link before its data connection ended has come by then.
constexpr std::chrono::milliseconds kLastWords{500};

/// Of a process that has ended: who can tell. A connection that has failed by itself is another
/// thing.
constexpr std::string_view kWhoCanTell =
    "; its own output may say why, and the system log if it was killed for lack of memory";

/// Says so behind `why`, unless that is empty.
std::string withWhoCanTell(std::string why) {
  if (!why.empty()) why += kWhoCanTell;
  return why;
}

double mebibytes(std::size_t bytes) {
  return std::ceil(static_cast<double>(bytes) / (1 << 20) * 10) / 10;
}

}  // namespace

ProcessGroup::ProcessGroup(Parts parts)
    : parts_(std::move(parts)),
      remote_(static_cast<std::size_t>(parts_.ranks)),
      wired_(static_cast<std::size_t>(parts_.ranks)) {}

ProcessGroup::~ProcessGroup() {
  leave(parts_.rank);
}

Status ProcessGroup::joinControl(Deadline deadline) {
  RONDO_RETURN_IF_ERROR(parts_.control->start(*this));
  Status joined = parts_.control->joinTree(deadline);
  if (joined.code() != StatusCode::kPeerLost) return joined;
  // A rank that needs nobody may have come and gone by now.
  learnLoss(parts_.control->treeParent(), std::string(joined.message()));
  return {};
}

// Connections.

Result<ConnectionMemory> ProcessGroup::connection(int from, int to, int channel) {
  const int peer = from == parts_.rank ? to : from;
  Status why;
  for (const std::size_t route : parts_.routes[static_cast<std::size_t>(peer)]) {
    Transport& transport = *parts_.transports[route];
    Result<ConnectionMemory> memory = connectBy(transport, from, to, channel);
    // Where ends are made one by one the peer may have its own already: both must not differ.
    const bool peerFails = transport.sharesMemory();
    if (memory.ok() || !peerFails || memory.status().code() != StatusCode::kOutOfMemory) {
      return memory;
    }
    why = std::move(memory).status();
    notePassedOver(transport, from, to, why);
  }
  return why;
}

void ProcessGroup::notePassedOver(const Transport& transport,
                                  int from,
                                  int to,
                                  const Status& why) const {
  // Once for all ranks that share the memory: they would all say the same, over and over.
  if (!parts_.board->claimNotice()) return;
  RONDO_LOG(kWarn, kTransport, (LogContext{parts_.rank, parts_.communicator}),
            "{} cannot connect ranks {} and {} and is passed over: {}", transport.name(), from, to,
            why.message());
}

Result<ConnectionMemory> ProcessGroup::connectBy(Transport& transport,
                                                 int from,
                                                 int to,
                                                 int channel) {
  if (!transport.sharesMemory() && parts_.control != nullptr) {
    const int peer = from == parts_.rank ? to : from;
    wired_[static_cast<std::size_t>(peer)] = true;
    RONDO_RETURN_IF_ERROR(parts_.control->start(*this));
    const Status linked = linkTo(peer);
    if (linked.code() == StatusCode::kPeerLost) {
      learnLoss(peer, std::string(linked.message()));
    } else if (!linked.ok()) {
      return linked;
    }
  }
  Result<ConnectionMemory> memory = transport.connect(from, to, channel);
  const bool isNew = std::ranges::find(wires_, &transport) == wires_.end();
  if (memory.ok() && !transport.sharesMemory() && isNew) wires_.push_back(&transport);
  return memory;
}

/// A peer on the board may not have come to serving its links yet; meanwhile the communicator may
/// fail, which the board tells and links do not.
Status ProcessGroup::linkTo(int peer) {
  const Deadline deadline =
      Deadline::within(onBoard(peer) ? parts_.leaveTimeout : parts_.connectTimeout);
  for (;;) {
    const Status linked = parts_.control->link(peer, earlier(deadline, Deadline::within(kLinkTry)));
    if (linked.code() != StatusCode::kTimeout || deadline.passed()) return linked;
    if (host::flagRaised(failedFlag())) return failure();
  }
}

// Memory of the program.

/// Not with transports that lead to nobody: what is registered with an adapter is locked.
void ProcessGroup::registerMemory(int /*rank*/,
                                  std::uint64_t number,
                                  std::span<const std::byte> memory) {
  for (std::size_t at = 0; at < parts_.transports.size(); ++at) {
    const bool leadsSomewhere = std::ranges::any_of(parts_.routes, [at](const auto& routes) {
      return !routes.empty() && routes.front() == at;
    });
    if (leadsSomewhere) parts_.transports[at]->registerMemory(number, memory);
  }
}

void ProcessGroup::deregisterMemory(int /*rank*/, std::uint64_t number) {
  for (const auto& transport : parts_.transports)
    transport->deregisterMemory(number);
}

// What is known of the others.

std::optional<MailboxMemory> ProcessGroup::mailbox(int rank) {
  const bool allShareMemory = std::ranges::all_of(parts_.onBoard, std::identity());
  return allShareMemory ? parts_.board->mailbox(rank) : std::nullopt;
}

CallRecord& ProcessGroup::record(int rank) {
  return onBoard(rank) ? parts_.board->record(rank)
                       : remote_[static_cast<std::size_t>(rank)].record;
}

void ProcessGroup::refresh(int rank) {
  if (overWires(rank)) parts_.control->ask(rank);
}

void ProcessGroup::awaitRefreshed(int rank, std::chrono::milliseconds atMost) {
  const RemoteRank& remote = remote_[static_cast<std::size_t>(rank)];
  const auto heard = [&] {
    const std::scoped_lock lock(mutex_);
    return remote.heard;
  };
  const std::uint64_t before = heard();
  const Deadline deadline = Deadline::within(atMost);
  const auto hopeless = [&] {
    return deadline.passed() || host::flagRaised(failedFlag()) || !whyLost(rank).empty();
  };
  while (overWires(rank) && heard() == before && !hopeless()) {
    refresh(rank);
    std::this_thread::sleep_for(kAnswerPoll);
  }
}

Status ProcessGroup::keepInTouch(int rank) {
  if (onBoard(rank) || parts_.control == nullptr) return {};
  const Status linked = linkTo(rank);
  if (linked.code() != StatusCode::kPeerLost) return linked;
  learnLoss(rank, std::string(linked.message()));
  return {};
}

bool ProcessGroup::mayBeOnItsWay(int rank) {
  if (!overWires(rank)) return false;
  const Traffic known = traffic(rank);
  const std::scoped_lock lock(mutex_);
  const RemoteRank& remote = remote_[static_cast<std::size_t>(rank)];
  // The board knows at once that a call is finished; what was posted for it is told later.
  if (remote.record.finished() < record(rank).finished()) return true;
  return known.arrived < remote.posted || known.credited < remote.released;
}

std::string_view ProcessGroup::transportTo(int rank) const {
  return parts_.transports[parts_.routes[static_cast<std::size_t>(rank)].front()]->name();
}

std::string ProcessGroup::whyLost(int rank) {
  if (!drained(rank)) return {};
  if (onBoard(rank)) return withWhoCanTell(parts_.board->whyLost(rank));
  const std::scoped_lock lock(mutex_);
  RemoteRank& remote = remote_[static_cast<std::size_t>(rank)];
  if (!remote.whyLost.empty()) return withWhoCanTell(remote.whyLost);
  std::string ended = dataConnectionEnded(rank);
  if (ended.empty()) return {};
  // A rank that ended with an error told it on the control link first, but the news of the two
  // sockets come in any order; the link's own end is seen in learnLoss().
  if (remote.lastWords.never()) remote.lastWords = Deadline::within(kLastWords);
  return remote.lastWords.passed() ? ended : std::string();
}

std::string ProcessGroup::dataConnectionEnded(int peer) const {
  for (const auto& transport : parts_.transports) {
    const std::string why = transport->whyLost(peer);
    if (!why.empty())
      return fmt::format("its {} connection has ended ({})", transport->name(), why);
  }
  return {};
}

Traffic ProcessGroup::traffic(int peer) const {
  Traffic sum;
  for (const auto& transport : parts_.transports) {
    const Traffic part = transport->traffic(peer);
    sum.posted += part.posted;
    sum.released += part.released;
    sum.arrived += part.arrived;
    sum.credited += part.credited;
  }
  return sum;
}

bool ProcessGroup::drained(int peer) const {
  return std::ranges::all_of(parts_.transports,
                             [peer](const auto& transport) { return transport->drained(peer); });
}

RankNews ProcessGroup::newsFor(int asker) {
  // The record first: who sees that a call is finished must know all that was posted for it.
  RankNews news;
  news.record = parts_.board->record(parts_.rank).words();
  const Traffic known = traffic(asker);
  news.posted = known.posted;
  news.released = known.released;
  return news;
}

void ProcessGroup::learn(int rank, const RankNews& news) {
  const std::scoped_lock lock(mutex_);
  RemoteRank& remote = remote_[static_cast<std::size_t>(rank)];
  // The counts first, for the same reason as in newsFor().
  remote.posted = news.posted;
  remote.released = news.released;
  remote.record.adopt(news.record);
  ++remote.heard;
}

void ProcessGroup::learnLoss(int rank, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  RemoteRank& remote = remote_[static_cast<std::size_t>(rank)];
  if (!remote.record.hasLeft()) remote.whyLost = why;
}

// Failure and leaving.

void ProcessGroup::fail(const Status& failure) {
  parts_.board->fail(failure);
  if (parts_.control != nullptr) parts_.control->spread(this->failure());
}

void ProcessGroup::learnFailure(const Status& failure) {
  parts_.board->fail(failure);
}

void ProcessGroup::leave(int /*rank*/) {
  if (std::exchange(left_, true)) return;
  awaitTaken();
  if (failure().ok()) warnOfUntaken();
  parts_.board->record(parts_.rank).leave();
  // Its end is that of this object: another thread may be spreading an abort. It says goodbye
  // before connections end, so that their end is no loss.
  if (parts_.control != nullptr) parts_.control->leave();
  for (const auto& transport : parts_.transports)
    transport->close();
}

/// What was sent and cannot arrive any more is not this rank's failure, but must not go unsaid.
void ProcessGroup::warnOfUntaken() const {
  const std::vector<int> ranks = ranksThatHaveNotTaken();
  if (ranks.empty()) return;
  RONDO_LOG(kWarn, kCommunicator, (LogContext{parts_.rank, parts_.communicator}),
            "leaves although ranks {} have not taken all that this rank sent them",
            listRanks(ranks));
}

void ProcessGroup::awaitTaken() {
  const Deadline deadline = Deadline::within(parts_.leaveTimeout);
  Deadline warning = Deadline::within(parts_.warningAfter);
  while (!takenByAll() && !host::flagRaised(failedFlag()) && !deadline.passed()) {
    if (!progress()) sleep(kSendNap);
    if (!warning.passed()) continue;
    warning = Deadline{};
    RONDO_LOG(kWarn, kCommunicator, (LogContext{parts_.rank, parts_.communicator}),
              "leaving waits {} ms for ranks {}, which have not taken all that this rank sent them",
              parts_.warningAfter.count(), listRanks(ranksThatHaveNotTaken()));
  }
}

std::vector<int> ProcessGroup::ranksThatHaveNotTaken() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < parts_.ranks; ++rank) {
    const Traffic known = traffic(rank);
    if (known.credited < known.posted) ranks.push_back(rank);
  }
  return ranks;
}

bool ProcessGroup::takenByAll() const {
  return std::ranges::all_of(wires_, [](const Transport* wire) { return wire->taken(); });
}

// Waiting.

bool ProcessGroup::progress() {
  bool moved = false;
  parts_.board->lookAround();
  for (Transport* const wire : wires_) {
    const Result<bool> progressed = wire->progress();
    if (progressed.ok()) {
      moved |= *progressed;
    } else {
      fail(progressed.status().withContext(fmt::format("rank {}", parts_.rank)));
    }
  }
  return moved;
}

bool ProcessGroup::flushed() const {
  return std::ranges::all_of(wires_, [](const Transport* wire) { return wire->flushed(); });
}

void ProcessGroup::sleep(std::chrono::microseconds atMost) {
  collectEvents();
  if (events_.empty()) {
    parts_.board->waitPlace().sleep(atMost);
    return;
  }
  stayAwake();  // nobody can ring who posts to a socket
  const bool blind = std::ranges::count(parts_.onBoard, true) > 1;
  const auto nap = std::min({atMost, blind ? kBlindNap : atMost, flushed() ? atMost : kSendNap});
  const timespec timeout{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(nap).count()};
  (void)::ppoll(events_.data(), events_.size(), &timeout, nullptr);
}

void ProcessGroup::collectEvents() {
  std::vector<int> watched;
  for (const Transport* const wire : wires_)
    wire->watch(watched);
  events_.clear();
  for (const int descriptor : watched)
    events_.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
}

std::vector<TransportMemory> ProcessGroup::memory() const {
  std::vector<TransportMemory> memory;
  for (const auto& transport : parts_.transports)
    memory.push_back({transport->name(), transport->memoryBytes()});
  return memory;
}

std::string ProcessGroup::describe() const {
  std::string text;
  for (std::size_t at = 0; at < parts_.transports.size(); ++at) {
    std::vector<int> ranks;
    for (int rank = 0; rank < parts_.ranks; ++rank) {
      const std::vector<std::size_t>& routes = parts_.routes[static_cast<std::size_t>(rank)];
      if (rank != parts_.rank && !routes.empty() && routes.front() == at) ranks.push_back(rank);
    }
    if (ranks.empty()) continue;
    text += fmt::format("{}ranks {} over {}", text.empty() ? "" : ", ", listRanks(ranks),
                        parts_.transports[at]->name());
  }
  std::size_t bytes = 0;
  std::size_t hugeBytes = 0;
  for (const auto& transport : parts_.transports) {
    bytes += transport->memoryBytes();
    hugeBytes += transport->hugePageBytes();
  }
  return fmt::format("{}; memory {} MiB huge pages {} MiB", text.empty() ? "no other rank" : text,
                     mebibytes(bytes), mebibytes(hugeBytes));
}

}  // namespace rondo
