#include "transports/verbs/verbs_transport.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <unistd.h>

#include "src/bootstrap/roster.h"
#include "src/log.h"
#include "src/net/event_signal.h"

namespace rondo::verbs {

namespace {

/// Turns in which nothing moves until sockets and adapters' events are looked at: a system call
/// takes as long as some ten turns.
constexpr int kTurnsBetweenLooks = 64;

/// For adapters to deliver what they were given, when a rank leaves before that was taken.
constexpr std::chrono::milliseconds kLastWrites{200};

/// Of a rank, for which there are queue pairs all at once. More hosts than that are not tried, the
/// farthest by number: they count as reached.
constexpr std::size_t kMostTrials = 256;

constexpr char kSeparator = '@';

/// The parts of an offer.
struct Offer {
  std::string_view ports;
  std::string_view control;
};

std::optional<Offer> parseOffer(std::string_view text) {
  const std::size_t first = text.find(kSeparator);
  const std::size_t second = text.find(kSeparator, first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  return Offer{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

Result<FileDescriptor> makeAlwaysReady() {
  Result<FileDescriptor> signal = makeEventSignal();
  const std::uint64_t one = 1;
  if (signal.ok() && ::write(signal->get(), &one, sizeof one) != sizeof one) {
    return Status::systemError("cannot write to an eventfd");
  }
  return signal;
}

}  // namespace

std::shared_ptr<Transport> makeTransport(TransportParts parts) {
  return std::make_shared<VerbsTransport>(std::move(parts));
}

Result<AdapterSurvey> surveyAdapters(const Settings& settings) {
  const Result<const Library*> library = systemLibrary();
  RONDO_RETURN_IF_ERROR(library.status());
  Result<PortSearchResult> found = searchPorts(**library, settings);
  RONDO_RETURN_IF_ERROR(found.status());
  AdapterSurvey survey;
  survey.passedOver = std::move(found->passedOver);
  for (const std::shared_ptr<Port>& port : found->usable) {
    survey.usable.push_back(port->describe());
    survey.emulated |= port->device().emulated();
  }
  return survey;
}

// Who is reached.

Result<std::string> VerbsTransport::offer() {
  if (parts_.control == nullptr) return parts_.whyNoControl;
  const Result<const Library*> library = systemLibrary();
  RONDO_RETURN_IF_ERROR(library.status());
  Result<std::vector<std::shared_ptr<Port>>> ports = findPorts(**library, parts_.settings);
  if (ports.status().code() == StatusCode::kInvalidArgument) {
    RONDO_LOG(kWarn, kTransport, LogContext{.rank = parts_.rank}, "verbs is not used: {}",
              ports.status().message());
  }
  RONDO_RETURN_IF_ERROR(ports.status());
  ports_ = *std::move(ports);
  peersBy_.resize(ports_.size());
  std::vector<PortOffer> offers;
  for (const auto& port : ports_)
    offers.push_back(port->offer());
  const std::string rank = fmt::format("{}{}", parts_.rank, kSeparator);
  const std::string control = kSeparator + parts_.control->addressWord();
  ownPorts_ = encodePorts(std::move(offers), kMaxOfferBytes - rank.size() - control.size());
  return rank + ownPorts_ + control;
}

bool VerbsTransport::canReach(int /*peer*/, std::string_view offer) const {
  const std::optional<Offer> parts = parseOffer(offer);
  if (!parts) return false;
  const Result<std::vector<PortPair>> paths = pathsBetween(ownPorts_, parts->ports);
  return paths.ok() && !paths->empty();
}

Status VerbsTransport::open(const std::vector<std::string>& offers, Deadline /*deadline*/) {
  paths_.resize(offers.size());
  whyNoPath_.resize(offers.size());
  portWords_.resize(offers.size());
  std::vector<std::string> control(offers.size());
  for (std::size_t peer = 0; peer < offers.size(); ++peer) {
    const std::optional<Offer> parts = parseOffer(offers[peer]);
    if (!parts) continue;
    control[peer] = parts->control;
    portWords_[peer] = parts->ports;
    if (static_cast<int>(peer) == parts_.rank) continue;
    Result<std::vector<PortPair>> paths = pathsBetween(ownPorts_, parts->ports);
    RONDO_RETURN_IF_ERROR(paths.status());
    paths_[peer] = *std::move(paths);
  }
  RONDO_RETURN_IF_ERROR(parts_.control->learnPeers(control));
  Result<FileDescriptor> ready = makeAlwaysReady();
  RONDO_RETURN_IF_ERROR(ready.status());
  alwaysReady_ = *std::move(ready);
  std::string names;
  for (const auto& port : ports_) {
    EndParts trial;
    trial.connection = PrivateConnection::make(parts_.slots.bytes, parts_.slots.count,
                                               headerBytes(parts_.slots.count));
    if (trial.connection == nullptr) return noMemory(parts_.rank, parts_.rank, 0, parts_.slots);
    RONDO_RETURN_IF_ERROR(attachToAdapter(trial, {port, 0}, true, parts_.settings));
    if (devices_.empty() || devices_.back().get() != &port->device())
      devices_.push_back(port->sharedDevice());
    names += (names.empty() ? "" : ", ") + port->describe();
  }
  RONDO_LOG(kInfo, kTransport, LogContext{.rank = parts_.rank}, "verbs uses {}", names);
  return {};
}

// Trials of paths.

std::string VerbsTransport::inviteToTrials(const std::vector<bool>& opened,
                                           const std::vector<bool>& served) {
  std::vector<std::string> words = portWords_;
  for (std::size_t rank = 0; rank < words.size(); ++rank)
    if (!opened[rank]) words[rank].clear();
  std::vector<Trials::Path> wanted;
  for (const int peer : trialPartners(parts_.rank, words)) {
    const auto at = static_cast<std::size_t>(peer);
    if (served[at]) continue;
    const Result<std::vector<PortOffer>> theirs = decodePorts(words[at]);
    if (!theirs.ok() || wanted.size() + paths_[at].size() > kMostTrials) break;
    for (std::size_t number = 0; number < paths_[at].size(); ++number) {
      const PortPair& ports = paths_[at][number];
      wanted.push_back({.peer = peer,
                        .number = number,
                        .place = {ports_[ports.own], ports.ownGid},
                        .peerGid = (*theirs)[ports.peer].gids[ports.peerGid],
                        .routed = ports.routed});
    }
  }
  trials_.prepare(std::move(wanted), parts_.settings);
  return trials_.invitation();
}

void VerbsTransport::acceptTrials(const std::vector<std::string>& invitations, Deadline deadline) {
  trials_.accept(parts_.rank, invitations, earlier(deadline, Deadline::within(kTrialPatience)));
}

std::string VerbsTransport::runTrials(Deadline deadline) {
  return encodeFindings(trials_.run(earlier(deadline, Deadline::within(kTrialPatience))));
}

void VerbsTransport::learnTrials(const std::vector<std::string>& findings) {
  trials_.end();
  std::vector<TrialFindings> all;
  for (const std::string& text : findings)
    all.push_back(decodeFindings(text).value_or(TrialFindings{}));
  for (std::size_t peer = 0; peer < paths_.size(); ++peer) {
    std::vector<PortPair>& paths = paths_[peer];
    if (paths.empty()) continue;
    const HostFindings found = findingsTowards(static_cast<int>(peer), all);
    for (const std::size_t number : found.failed)
      if (number < paths.size()) paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(number));
    if (paths.empty()) whyNoPath_[peer] = "no path leads there, such as that from " + found.why;
  }
  warnOfFailedPaths(all);
}

VerbsTransport::HostFindings VerbsTransport::findingsTowards(
    int peer, const std::vector<TrialFindings>& findings) const {
  const auto hosts = [&](std::size_t one, std::size_t other) {
    const auto word = [&](std::size_t rank) {
      return rank < portWords_.size() ? std::string_view(portWords_[rank]) : std::string_view();
    };
    return std::minmax({word(one), word(other)});
  };
  const auto concerned =
      hosts(static_cast<std::size_t>(parts_.rank), static_cast<std::size_t>(peer));
  HostFindings found;
  for (std::size_t finder = 0; finder < findings.size(); ++finder) {
    for (const auto& [other, number] : findings[finder].failed) {
      if (hosts(finder, static_cast<std::size_t>(other)) != concerned) continue;
      found.failed.insert(number);
      if (found.why.empty()) found.why = findings[finder].why;
    }
  }
  return found;
}

/// One rank for all.
void VerbsTransport::warnOfFailedPaths(const std::vector<TrialFindings>& findings) const {
  const auto first = std::ranges::find_if(
      findings, [](const TrialFindings& found) { return !found.failed.empty(); });
  if (first == findings.end() || first - findings.begin() != parts_.rank) return;
  RONDO_LOG(kWarn, kTransport, LogContext{.rank = parts_.rank},
            "verbs passes over paths that lead nowhere, such as that from {}", first->why);
}

std::string VerbsTransport::whyNoPath(int peer) const {
  return whyNoPath_[static_cast<std::size_t>(peer)];
}

// Connections.

/// Connections take turns over the ports. The middle of the two ranks is another one for each
/// neighbour in a ring, and for most peers of a star.
const PortPair& VerbsTransport::choosePorts(int peer, int channel) const {
  const std::vector<PortPair>& paths = paths_[static_cast<std::size_t>(peer)];
  const auto turn = static_cast<std::size_t>((parts_.rank + peer) / 2 + channel);
  return paths[turn % paths.size()];
}

Result<EndParts> VerbsTransport::makeEnd(int from, int to, int channel) {
  const bool receives = to == parts_.rank;
  const int peer = receives ? from : to;
  auto connection =
      makePaidConnection(parts_.account, parts_.slots, from, to, channel, sizeof(SlotEntry));
  RONDO_RETURN_IF_ERROR(connection.status());
  const SlotShape slots{parts_.slots.bytes, (*connection)->slotCount()};
  const PortPair& ports = choosePorts(peer, channel);
  const PortChoice place{ports_[ports.own], ports.ownGid};
  RONDO_LOG(kDebug, kTransport, LogContext{.rank = parts_.rank},
            "connection from rank {} to rank {} channel {} by {} GID {}", from, to, channel,
            place.port->name(), gidText(place.port->gids()[place.gid].gid));
  warnOfLinkLocal(peer, place);
  EndParts parts{.peer = peer, .connection = *std::move(connection)};
  Status attached = attachToAdapter(parts, place, receives, parts_.settings);
  const std::string name =
      fmt::format("connection from rank {} to rank {} channel {}", from, to, channel);
  if (attached.ok()) {
    place.port->use(place.gid);
    peersBy_[ports.own].insert(peer);
  } else if (parts_.mayDetour) {
    warnOfDetour(name, attached);
  } else {
    parts_.account.giveBack(slots);
    return Status::systemError("{}: {}; with tcp in RONDO_TRANSPORT it would go by that", name,
                               attached.message());
  }
  return parts;
}

void VerbsTransport::warnOfDetour(const std::string& connection, const Status& why) {
  if (std::exchange(warnedOfDetour_, true)) return;
  RONDO_LOG(kWarn, kTransport, LogContext{.rank = parts_.rank},
            "{}, and maybe others, goes by tcp instead of verbs: {}", connection, why.message());
}

/// Such addresses are the last resort: they work where the two ports see each other's frames.
void VerbsTransport::warnOfLinkLocal(int peer, const PortChoice& place) {
  const Gid& gid = place.port->gids()[place.gid].gid;
  const bool doubtful =
      place.port->ethernet() && isLinkLocal(gid) && !parts_.settings.gidIndex.has_value();
  if (!doubtful || std::exchange(warnedOfLinkLocal_, true)) return;
  RONDO_LOG(kWarn, kTransport, LogContext{.rank = parts_.rank},
            "verbs reaches rank {}, and maybe others, by {} GID {}, which is link-local: no router "
            "passes it on; give the port's network interface an IP address if that fails",
            peer, place.port->name(), gidText(gid));
}

Result<ConnectionMemory> VerbsTransport::connect(int from, int to, int channel) {
  if (from == parts_.rank) return connectSend(to, channel);
  const Result<RecvLink*> link = receivingEnd(from, channel);
  RONDO_RETURN_IF_ERROR(link.status());
  return (*link)->memory();
}

Result<ConnectionMemory> VerbsTransport::connectSend(int to, int channel) {
  Result<EndParts> end = makeEnd(parts_.rank, to, channel);
  RONDO_RETURN_IF_ERROR(end.status());
  end->buffers = &buffers_;
  Result<FileDescriptor> socket = parts_.control->dialData(
      to, {DataWire::kVerbs, channel, parts_.slots.bytes, end->connection->slotCount()},
      Deadline::within(parts_.connectTimeout));
  if (socket.ok()) {
    SendLink& link = links_.addSend({to, channel}, *std::move(end), *std::move(socket));
    link.tell();
    return link.memory();
  }
  if (socket.status().code() != StatusCode::kPeerLost) {
    parts_.account.giveBack({parts_.slots.bytes, end->connection->slotCount()});
    return std::move(socket).status();
  }
  // A peer that is gone is no error of connecting: what it did last may explain it better.
  return links_.addSend({to, channel}, *std::move(end), std::string(socket.status().message()))
      .memory();
}

/// Made by whichever is first, this rank's connect() or the peer's: a sender must not wait for a
/// rank that is in another call.
Result<RecvLink*> VerbsTransport::receivingEnd(int from, int channel) {
  const auto found = links_.recvs().find({from, channel});
  if (found != links_.recvs().end()) return &found->second;
  Result<EndParts> end = makeEnd(from, parts_.rank, channel);
  RONDO_RETURN_IF_ERROR(end.status());
  return &links_.addRecv({from, channel}, *std::move(end));
}

// Memory of the program.

void VerbsTransport::registerMemory(std::uint64_t number, std::span<const std::byte> memory) {
  const Status added = buffers_.add(number, memory, devices_);
  if (added.ok() || std::exchange(warnedOfCopies_, true)) return;
  RONDO_LOG(kWarn, kTransport, LogContext{.rank = parts_.rank},
            "what is sent from a registered buffer, and maybe from others, is copied first: {}",
            added.message());
}

void VerbsTransport::deregisterMemory(std::uint64_t number) {
  if (!buffers_.has(number)) return;
  for (auto& [key, link] : links_.sends())
    link.finishReading();
  buffers_.remove(number);
}

// Moving data.

Result<bool> VerbsTransport::progress() {
  const bool look = std::exchange(slept_, false) || ++idleTurns_ >= kTurnsBetweenLooks;
  if (look) {
    idleTurns_ = 0;
    RONDO_RETURN_IF_ERROR(lookAround());
  }
  bool moved = false;
  const auto step = [&](auto& links) -> Status {
    for (auto& [key, link] : links) {
      const Result<bool> progressed = link.progress(look);
      RONDO_RETURN_IF_ERROR(progressed.status());
      moved |= *progressed;
    }
    return {};
  };
  RONDO_RETURN_IF_ERROR(step(links_.recvs()));
  RONDO_RETURN_IF_ERROR(step(links_.sends()));
  if (moved) idleTurns_ = 0;
  return moved;
}

Status VerbsTransport::lookAround() {
  RONDO_RETURN_IF_ERROR(adoptArrivals());
  return checkPorts();
}

Status VerbsTransport::adoptArrivals() {
  while (auto arrival = parts_.control->takeDataSocket(DataWire::kVerbs)) {
    const OpenData& opening = arrival->opening;
    const auto from = static_cast<std::size_t>(arrival->from);
    if (from >= paths_.size() || paths_[from].empty()) continue;  // it does not know what we know
    if (opening.slotBytes != parts_.slots.bytes) {
      return Status::mismatch("rank {} sends slots of {} bytes, rank {} expects {}", arrival->from,
                              opening.slotBytes, parts_.rank, parts_.slots.bytes);
    }
    const Result<RecvLink*> link = receivingEnd(arrival->from, opening.channel);
    RONDO_RETURN_IF_ERROR(link.status());
    (*link)->adopt(std::move(arrival->socket), opening.slotCount);
  }
  return {};
}

/// A port that is down may come back while adapters still repeat what was lost.
Status VerbsTransport::checkPorts() {
  for (const auto& device : devices_) {
    while (const std::optional<Device::Event> event = device->nextEvent()) {
      RONDO_LOG(kInfo, kTransport, LogContext{.rank = parts_.rank}, "{} port {}: {}",
                device->name(), event->port, device->library().eventText(event->type));
      for (const auto& port : ports_)
        if (&port->device() == device.get()) port->onEvent(*event, patience());
    }
  }
  for (std::size_t at = 0; at < ports_.size(); ++at) {
    const std::string trouble = ports_[at]->trouble();
    if (trouble.empty()) continue;
    return Status::systemError(
        "{} {}; connections with ranks {} use it: see to it, or leave it out by RONDO_IB_DEVICES, "
        "and make the communicator again",
        ports_[at]->name(), trouble, listRanks({peersBy_[at].begin(), peersBy_[at].end()}));
  }
  return {};
}

std::chrono::milliseconds VerbsTransport::patience() const {
  const Settings& settings = parts_.settings;
  const double micros = 4.096 * static_cast<double>(std::uint64_t{1} << settings.timeout);
  const auto once = std::chrono::milliseconds(static_cast<std::int64_t>(micros / 1000));
  return std::max(std::chrono::milliseconds{1}, once * (settings.retries + 1));
}

void VerbsTransport::close() {
  const Deadline deadline = Deadline::within(kLastWrites);
  for (auto& [key, link] : links_.sends())
    link.awaitWrites(deadline);
  links_.close();
}

/// Before a rank sleeps: has all adapters report, so that they wake it.
void VerbsTransport::watch(std::vector<int>& descriptors) const {
  slept_ = true;
  for (const auto& device : devices_) {
    QueuePair::takeReports(*device);
    descriptors.push_back(device->channel()->fd);
    descriptors.push_back(device->context()->async_fd);
  }
  bool quiet = true;
  for (auto& [key, link] : links_.recvs()) {
    quiet &= link.ended() || link.prepareSleep();
    if (link.watched() >= 0) descriptors.push_back(link.watched());
  }
  for (auto& [key, link] : links_.sends()) {
    quiet &= link.taken() || link.prepareSleep();
    if (link.watched() >= 0) descriptors.push_back(link.watched());
  }
  if (!quiet) descriptors.push_back(alwaysReady_.get());
}

}  // namespace rondo::verbs
