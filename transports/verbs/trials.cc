#include "transports/verbs/trials.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <thread>

#include "src/log.h"

namespace rondo::verbs {

namespace {

/// Until an adapter repeats a message, 4.096 us * 2^17 = 0.54 s, and how often: with that it gives
/// up after 4 s, or later, if kTrialPatience has not ended before. Not the user's, which are for
/// paths that work.
Settings forTrials(Settings settings) {
  settings.timeout = 17;
  settings.retries = 7;
  return settings;
}

constexpr std::chrono::microseconds kBetweenLooks{50};

/// Numbers of `text` in hexadecimal, separated by dots; nothing if there are not `count`.
std::optional<std::vector<std::uint32_t>> parseNumbers(std::string_view text, std::size_t count) {
  std::vector<std::uint32_t> numbers;
  const char* at = text.data();
  const char* const textEnd = text.data() + text.size();
  while (at < textEnd) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(at, textEnd, number, 16);
    const bool more = end < textEnd && *end == '.';
    if (error != std::errc{} || (end < textEnd && !more)) return std::nullopt;
    numbers.push_back(number);
    at = more ? end + 1 : end;
  }
  if (numbers.size() != count) return std::nullopt;
  return numbers;
}

/// The parts of "a,b,c".
std::vector<std::string_view> splitList(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

/// What `invitation` says of path `number` to `rank`; nothing if it does not invite there.
std::optional<Endpoint> findInvited(std::string_view invitation, int rank, std::size_t number) {
  for (const std::string_view part : splitList(invitation)) {
    const auto numbers = parseNumbers(part, 6);
    if (!numbers) return std::nullopt;
    const std::vector<std::uint32_t>& n = *numbers;
    if (n[0] != static_cast<std::uint32_t>(rank) || n[1] != number) continue;
    Endpoint end;
    end.queuePair = n[2];
    end.firstPacket = n[3];
    end.lid = n[4];
    end.mtu = n[5];
    return end;
  }
  return std::nullopt;
}

/// The one of `ranks` that tries the paths to the host of `others`. Hosts that lie side by side get
/// different ones.
int triesTowards(const std::vector<int>& ranks, const std::vector<int>& others) {
  const auto turn = static_cast<std::size_t>(others.front()) / others.size();
  return ranks[turn % ranks.size()];
}

}  // namespace

std::vector<int> trialPartners(int rank, const std::vector<std::string>& ports) {
  std::map<std::string_view, std::vector<int>> hosts;
  for (int other = 0; other < static_cast<int>(ports.size()); ++other) {
    const std::string& word = ports[static_cast<std::size_t>(other)];
    if (!word.empty()) hosts[word].push_back(other);
  }
  const std::string& own = ports[static_cast<std::size_t>(rank)];
  if (own.empty()) return {};
  const std::vector<int>& here = hosts[own];
  std::vector<int> partners;
  for (const auto& [word, there] : hosts) {
    if (word == own) {
      if (here.size() > 1 && rank == here[0]) partners.push_back(here[1]);
      if (here.size() > 1 && rank == here[1]) partners.push_back(here[0]);
    } else if (triesTowards(here, there) == rank) {
      partners.push_back(triesTowards(there, here));
    }
  }
  std::ranges::sort(partners, {}, [rank](int peer) { return std::abs(peer - rank); });
  return partners;
}

std::string encodeFindings(const TrialFindings& findings) {
  std::string text;
  for (const auto& [peer, number] : findings.failed)
    text += fmt::format("{}{:x}.{:x}", text.empty() ? "" : ",", peer, number);
  return text.empty() ? text : text + '\n' + findings.why;
}

std::optional<TrialFindings> decodeFindings(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  TrialFindings findings;
  for (const std::string_view part : splitList(text.substr(0, line))) {
    const auto numbers = parseNumbers(part, 2);
    if (!numbers) return std::nullopt;
    findings.failed.emplace_back(static_cast<int>((*numbers)[0]), (*numbers)[1]);
  }
  findings.why = text.substr(std::min(line + 1, text.size()));
  return findings;
}

void Trials::prepare(std::vector<Path> paths, const Settings& settings) {
  for (Path& path : paths) {
    Result<std::unique_ptr<QueuePair>> pair =
        QueuePair::make(path.place, {.sends = 1, .receives = 1}, false, forTrials(settings));
    if (pair.ok()) {
      trials_.push_back({.path = std::move(path), .pair = *std::move(pair)});
    } else {
      RONDO_LOG(kInfo, kTransport, "a path to rank {} is not tried: {}", path.peer,
                pair.status().message());
    }
  }
}

std::string Trials::invitation() const {
  std::string text;
  for (const Trial& trial : trials_) {
    const Endpoint own = trial.pair->endpoint();
    text += fmt::format("{}{:x}.{:x}.{:x}.{:x}.{:x}.{:x}", text.empty() ? "" : ",", trial.path.peer,
                        trial.path.number, own.queuePair, own.firstPacket, own.lid, own.mtu);
  }
  return text;
}

void Trials::accept(int rank, const std::vector<std::string>& invitations, Deadline deadline) {
  std::erase_if(trials_, [&](Trial& trial) {
    const auto peer = static_cast<std::size_t>(trial.path.peer);
    std::optional<Endpoint> end = findInvited(invitations[peer], rank, trial.path.number);
    if (!end) return true;
    end->gid = trial.path.peerGid;
    // Each may wait for the kernel to resolve an address.
    const Status connected = deadline.passed() ? Status::timeout("its turn has come too late")
                                               : trial.pair->connect(*end);
    if (!connected.ok()) trial.failure = connected.message();
    return false;
  });
}

TrialFindings Trials::run(Deadline deadline) {
  for (Trial& trial : trials_)
    if (!trial.isOver()) send(trial);
  while (!std::ranges::all_of(trials_, &Trial::isOver) && !deadline.passed()) {
    for (Trial& trial : trials_)
      look(trial);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return findings();
}

void Trials::send(Trial& trial) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_sge nothing{};
  const Status sent = trial.pair->send(request, nothing);
  if (!sent.ok()) trial.failure = sent.message();
}

/// The peer's message may come before or after the own one is acknowledged, which proves the path
/// both ways.
void Trials::look(Trial& trial) {
  while (!trial.isOver()) {
    const ibv_wc* const completion = trial.pair->nextCompletion();
    if (completion == nullptr) return;
    if (completion->status != IBV_WC_SUCCESS) {
      trial.failure = trial.pair->port().device().library().statusText(completion->status);
    } else if (completion->opcode == IBV_WC_SEND) {
      trial.passed = true;
    }
  }
}

TrialFindings Trials::findings() const {
  TrialFindings findings;
  for (const Trial& trial : trials_) {
    if (trial.passed) continue;
    const Path& path = trial.path;
    findings.failed.emplace_back(path.peer, path.number);
    if (findings.failed.size() > 1) continue;
    const Port& port = *path.place.port;
    findings.why = fmt::format(
        "{} (GID {}) to rank {} (GID {}): {}{}; RONDO_IB_DEVICES chooses adapters that reach each "
        "other",
        port.name(), gidText(port.gids()[path.place.gid].gid), path.peer, gidText(path.peerGid),
        trial.failure.empty() ? fmt::format("no answer within {} ms", kTrialPatience.count())
                              : trial.failure,
        path.routed ? "; the two are in different networks, which a router has to join" : "");
  }
  return findings;
}

}  // namespace rondo::verbs
