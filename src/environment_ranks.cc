#include "src/environment_ranks.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "src/bootstrap/job_key.h"
#include "src/bootstrap/launcher_store.h"
#include "src/bootstrap/rendezvous_session.h"
#include "src/log.h"
#include "src/net/name_resolution.h"
#include "src/rendezvous_keeper.h"

namespace rondo {

namespace {

void logLaunch(const Launch& launch) {
  const std::string local =
      launch.localRank ? fmt::format(" local {}", *launch.localRank) : std::string();
  RONDO_LOG(kInfo, kCommunicator, LogContext{.rank = launch.rank}, "ranks {}{} from {} by {}",
            launch.ranks, local, launcherName(launch.launcher), launch.evidence);
}

/// Once per process is enough: it does not change while one runs.
void warnOfIdentityOnly() {
  if (!firstLogOf("identity check only")) return;
  RONDO_LOG(
      kWarn, kCommunicator,
      "no RONDO_SECRET: ranks meet with a key that others could work out, which is an identity "
      "check only, not authentication; only loopback and private addresses are accepted");
}

/// An IP number of this host alone was meant to stay on it; a name may mean another host elsewhere.
std::optional<SocketAddress> loopbackOnly(const std::string& host) {
  const std::optional<SocketAddress> number = SocketAddress::parseHost(host);
  return number && number->isLoopback() ? number : std::nullopt;
}

/// Makes this process, rank 0, the root.
Result<EnvironmentMeeting> becomeRoot(const Config& config,
                                      const Launch& launch,
                                      const JobKey& key) {
  RendezvousSettings settings = rendezvousSettings(config);
  settings.portFirst = launch.root.ports.first;
  settings.portLast = launch.root.ports.last;
  settings.secret = key.key;
  settings.listenAt = loopbackOnly(launch.root.host);
  settings.privateOnly = !key.secret;
  Result<std::unique_ptr<Rendezvous>> rendezvous = Rendezvous::start(settings);
  RONDO_RETURN_IF_ERROR(rendezvous.status());
  const Result<UniqueIdContent> content = readUniqueId((*rendezvous)->id());
  RONDO_RETURN_IF_ERROR(content.status());
  const std::uint16_t port = content->addresses.front().port();
  RONDO_LOG(kInfo, kCommunicator, LogContext{.rank = launch.rank}, "root of {} ranks at port {}",
            launch.ranks, port);
  // Its own way to itself does not depend on what others see.
  const std::vector<SocketAddress> here =
      settings.listenAt ? content->addresses
                        : std::vector{SocketAddress::loopback(AddressFamily::kIpv4, port),
                                      SocketAddress::loopback(AddressFamily::kIpv6, port)};
  return EnvironmentMeeting{launch, makeUniqueId(here, key.key), *std::move(rendezvous),
                            !key.secret};
}

/// Addresses that may be dialled: without a secret, private ones only.
Result<std::vector<SocketAddress>> trustedAddresses(const RootPlace& root,
                                                    const JobKey& key,
                                                    Deadline deadline) {
  Result<std::vector<SocketAddress>> addresses = resolveHost(root.host, deadline);
  if (!addresses.ok() || key.secret) return addresses;
  const std::string first = addresses->front().hostText();
  std::erase_if(*addresses, [](const SocketAddress& address) { return !address.isPrivate(); });
  if (!addresses->empty()) return addresses;
  return Status::invalidArgument(
      "the root {} is at {}, which is not on a private network; set RONDO_SECRET or "
      "RONDO_SECRET_FILE on all ranks",
      root.host, first);
}

/// Every address with every port.
std::vector<SocketAddress> candidates(const std::vector<SocketAddress>& addresses,
                                      PortRange ports) {
  std::vector<SocketAddress> all;
  for (int port = ports.first; port <= ports.last; ++port) {
    for (const SocketAddress& address : addresses)
      all.push_back(address.withPort(static_cast<std::uint16_t>(port)));
  }
  return all;
}

/// Finds where rank 0 listens.
Result<EnvironmentMeeting> findRoot(const Launch& launch, const JobKey& key, Deadline deadline) {
  const Result<std::vector<SocketAddress>> addresses = trustedAddresses(launch.root, key, deadline);
  RONDO_RETURN_IF_ERROR(addresses.status());
  std::vector<SocketAddress> places = candidates(*addresses, launch.root.ports);
  if (places.size() > kMostAddresses) {
    const Result<SocketAddress> root =
        probeForRoot({places, key.key}, launch.rank, launch.ranks, deadline);
    RONDO_RETURN_IF_ERROR(root.status());
    places = {*root};
  }
  return EnvironmentMeeting{launch, makeUniqueId(places, key.key), nullptr, !key.secret};
}

Result<EnvironmentMeeting> meetAtRoot(const Config& config,
                                      const Launch& launch,
                                      Deadline deadline) {
  const Result<JobKey> key = makeJobKey(config.meeting, launch.job);
  RONDO_RETURN_IF_ERROR(key.status());
  if (!key->secret) warnOfIdentityOnly();
  return launch.rank == 0 ? becomeRoot(config, launch, *key) : findRoot(launch, *key, deadline);
}

/// A name that no text before it had in this process; the same on all ranks, as they make their
/// communicators in the same order.
std::string nextStoreKey() {
  static std::mutex mutex;
  static int count = 0;
  const std::scoped_lock lock(mutex);
  return fmt::format("rondo-{}", ++count);
}

std::string toHex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes)
    hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return hex;
}

/// Undoes toHex(); empty if `hex` is none.
std::string fromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 2 <= hex.size(); at += 2) {
    unsigned byte = 0;
    const char* const end = hex.data() + at + 2;
    if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end) return {};
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

constexpr char kIdMark = 'i';
constexpr char kErrorMark = 'e';

/// What rank 0 tells the others: its id, or why there is none, so that they need not wait for it.
std::string textFor(const Result<std::unique_ptr<Rendezvous>>& rendezvous) {
  constexpr std::size_t kMaxErrorBytes = 450;
  if (rendezvous.ok()) return kIdMark + toHex((*rendezvous)->id().bytes);
  const std::string error(rendezvous.status().message().substr(0, kMaxErrorBytes));
  return kErrorMark + toHex(std::as_bytes(std::span(error)));
}

Result<UniqueId> idFrom(const std::string& text) {
  const std::string bytes = text.empty() ? text : fromHex(std::string_view(text).substr(1));
  UniqueId id;
  if (text.starts_with(kIdMark) && bytes.size() == id.bytes.size()) {
    std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
    return id;
  }
  if (text.starts_with(kErrorMark)) {
    return Status::aborted("rank 0 could not serve the rendezvous: {}", bytes);
  }
  return Status::systemError("the launcher gave something else than what rank 0 had put there");
}

Result<EnvironmentMeeting> meetThrough(LauncherStore& store,
                                       const Config& config,
                                       const Launch& launch,
                                       Deadline deadline) {
  Result<std::unique_ptr<Rendezvous>> rendezvous = std::unique_ptr<Rendezvous>();
  std::string own;
  if (launch.rank == 0) {
    rendezvous = Rendezvous::start(rendezvousSettings(config));
    own = textFor(rendezvous);
  }
  const Result<std::string> text = store.spread(nextStoreKey(), own, deadline);
  RONDO_RETURN_IF_ERROR(rendezvous.status());
  RONDO_RETURN_IF_ERROR(text.status());
  const Result<UniqueId> id = idFrom(*text);
  RONDO_RETURN_IF_ERROR(id.status());
  return EnvironmentMeeting{launch, *id, *std::move(rendezvous), false};
}

}  // namespace

Result<EnvironmentMeeting> meetByEnvironment(const Config& config,
                                             const Environment& environment,
                                             Deadline deadline) {
  const Result<Launch> launch = findLaunch(config.meeting, environment);
  RONDO_RETURN_IF_ERROR(launch.status());
  logLaunch(*launch);
  switch (launch->place) {
    case MeetingPlace::kRoot:
      return meetAtRoot(config, *launch, deadline);
    case MeetingPlace::kPmix: {
      const Result<std::unique_ptr<LauncherStore>> store = openPmixStore();
      RONDO_RETURN_IF_ERROR(store.status());
      return meetThrough(**store, config, *launch, deadline);
    }
    case MeetingPlace::kPmi1:
      return meetThrough(*openPmi1Store(launch->pmiDescriptor, launch->rank), config, *launch,
                         deadline);
    case MeetingPlace::kNowhere:
      break;
  }
  return EnvironmentMeeting{*launch, {}, nullptr, false};
}

}  // namespace rondo
