#include "transports/verbs/reach.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <span>

#include "src/net/socket_address.h"

namespace rondo::verbs {

namespace {

constexpr std::array<std::uint8_t, 12> kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool isMappedIpv4(const Gid& gid) {
  return std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), gid.begin());
}

/// The bytes of a GID that say where it is: an offer is short.
std::span<const std::uint8_t> significant(const Gid& gid, bool ethernet) {
  return ethernet && isMappedIpv4(gid) ? std::span(gid).subspan(kMappedIpv4.size())
                                       : std::span(gid);
}

void shorten(std::vector<PortOffer>& ports) {
  const auto count = [](const PortOffer& port) { return port.gids.size(); };
  const auto most = std::ranges::max_element(std::views::reverse(ports), {}, count);
  if (count(*most) > 1) {
    most->gids.pop_back();
  } else {
    ports.pop_back();
  }
}

std::string encodePort(const PortOffer& port) {
  std::string word(1, port.ethernet ? 'E' : 'I');
  for (std::size_t at = 0; at < port.gids.size(); ++at) {
    if (at > 0) word += '+';
    for (const std::uint8_t byte : significant(port.gids[at], port.ethernet))
      word += fmt::format("{:02x}", byte);
  }
  return word;
}

std::optional<Gid> decodeGid(std::string_view digits, bool ethernet) {
  const std::size_t bytes = digits.size() / 2;
  const bool mapped = ethernet && bytes == 4;
  if (digits.size() % 2 != 0 || !(mapped || bytes == 16U)) return std::nullopt;
  Gid gid{};
  std::size_t to = 0;
  if (mapped)
    to = std::size_t(std::copy(kMappedIpv4.begin(), kMappedIpv4.end(), gid.begin()) - gid.begin());
  for (; !digits.empty(); digits.remove_prefix(2), ++to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, gid[to], 16);
    if (error != std::errc{} || end != digits.data() + 2) return std::nullopt;
  }
  return gid;
}

/// The part of `text` before the first `separator`, which is taken out of it.
std::string_view takePart(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::optional<PortOffer> decodePort(std::string_view word) {
  if (word.empty() || (word.front() != 'E' && word.front() != 'I')) return std::nullopt;
  PortOffer port{.ethernet = word.front() == 'E', .gids = {}};
  word.remove_prefix(1);
  while (!word.empty()) {
    const std::optional<Gid> gid = decodeGid(takePart(word, '+'), port.ethernet);
    if (!gid) return std::nullopt;
    port.gids.push_back(*gid);
  }
  return port;
}

int commonBits(const Gid& one, const Gid& other) {
  for (int bit = 0; bit < 128; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if (((one[byte] ^ other[byte]) & mask) != 0) return bit;
  }
  return 128;
}

/// The bits of a routable RoCE address that say its network. Masks are not known: what differs
/// behind /24 of IPv4 and /64 of IPv6 is taken for hosts of one network.
int networkBits(const Gid& gid) {
  return isMappedIpv4(gid) ? 96 + 24 : 64;
}

/// How well two RoCE addresses reach each other; 0: not at all.
int affinity(const Gid& one, const Gid& other) {
  constexpr int kRoutable = 1000;
  if (isMappedIpv4(one) != isMappedIpv4(other) || isLinkLocal(one) != isLinkLocal(other)) return 0;
  if (isLinkLocal(one)) return 1;
  return kRoutable + std::min(commonBits(one, other), networkBits(one));
}

struct Choice {
  PortPair pair;
  int affinity = 0;
};

/// The best addresses for one pair of ports.
Choice chooseGids(const PortOffer& own, const PortOffer& peer, PortPair ports) {
  Choice best;
  if (own.ethernet != peer.ethernet) return best;
  for (std::size_t a = 0; a < own.gids.size(); ++a) {
    for (std::size_t b = 0; b < peer.gids.size(); ++b) {
      const bool sameSubnet =
          std::equal(own.gids[a].begin(), own.gids[a].begin() + 8, peer.gids[b].begin());
      const int found = own.ethernet ? affinity(own.gids[a], peer.gids[b]) : int(sameSubnet);
      if (found <= best.affinity) continue;
      const bool routed = own.ethernet && !isLinkLocal(own.gids[a]) &&
                          commonBits(own.gids[a], peer.gids[b]) < networkBits(own.gids[a]);
      best = {{ports.own, a, ports.peer, b, routed}, found};
    }
  }
  return best;
}

}  // namespace

bool isLinkLocal(const Gid& gid) {
  if (isMappedIpv4(gid)) return gid[12] == 169 && gid[13] == 254;
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

std::string gidText(const Gid& gid) {
  if (!isMappedIpv4(gid)) return SocketAddress::fromBytes(AddressFamily::kIpv6, gid, 0).hostText();
  Gid ipv4{};
  std::copy(gid.begin() + kMappedIpv4.size(), gid.end(), ipv4.begin());
  return SocketAddress::fromBytes(AddressFamily::kIpv4, ipv4, 0).hostText();
}

std::string encodePorts(std::vector<PortOffer> ports, std::size_t mostBytes) {
  for (;;) {
    std::string word;
    for (const PortOffer& port : ports)
      word += fmt::format("{}{}", word.empty() ? "" : "/", encodePort(port));
    if (word.size() <= mostBytes) return word;
    shorten(ports);
  }
}

Result<std::vector<PortOffer>> decodePorts(std::string_view word) {
  std::vector<PortOffer> ports;
  while (!word.empty()) {
    std::optional<PortOffer> port = decodePort(takePart(word, '/'));
    if (!port) return Status::invalidArgument("\"{}\" is no list of ports", word);
    ports.push_back(*std::move(port));
  }
  return ports;
}

std::vector<PortPair> pairPorts(const std::vector<PortOffer>& own,
                                const std::vector<PortOffer>& peer) {
  std::vector<PortPair> pairs;
  for (std::size_t i = 0; i < own.size(); ++i) {
    Choice best;
    // Begins at the port of the same number, so that it wins where several are as good.
    for (std::size_t turn = 0; turn < peer.size(); ++turn) {
      const Choice choice =
          chooseGids(own[i], peer[(i + turn) % peer.size()], {i, 0, (i + turn) % peer.size(), 0});
      if (choice.affinity > best.affinity) best = choice;
    }
    if (best.affinity > 0) pairs.push_back(best.pair);
  }
  return pairs;
}

Result<std::vector<PortPair>> pathsBetween(std::string_view own, std::string_view peer) {
  const bool swapped = peer < own;
  const Result<std::vector<PortOffer>> one = decodePorts(swapped ? peer : own);
  const Result<std::vector<PortOffer>> other = decodePorts(swapped ? own : peer);
  RONDO_RETURN_IF_ERROR(one.status());
  RONDO_RETURN_IF_ERROR(other.status());
  std::vector<PortPair> paths = pairPorts(*one, *other);
  if (!swapped) return paths;
  for (PortPair& path : paths)
    path = {path.peer, path.peerGid, path.own, path.ownGid, path.routed};
  return paths;
}

}  // namespace rondo::verbs
