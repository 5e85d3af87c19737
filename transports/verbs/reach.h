// Which ports of two ranks can reach each other, and by which addresses: pure functions of what
// the ranks have offered, so that both ends of a connection answer alike.
//
// A port of an InfiniBand network is reached by its LID from any port of the same subnet, which has
// the first half of its GID in common. A RoCE port is reached by a GID that is an IP address; it
// has several (link-local, IPv4, IPv6; for RoCE v1 and v2), and which ones pairs of hosts can use
// depends on both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/status.h"

namespace rondo::verbs {

/// A port's address in network order; of RoCE, an IPv6 address or an IPv4 one mapped into it.
using Gid = std::array<std::uint8_t, 16>;

/// Whether it is of use on one cable only (169.254/16, fe80::/10).
bool isLinkLocal(const Gid& gid);

/// "10.0.0.1" or "fe80::1".
std::string gidText(const Gid& gid);

/// A port as others need to know it.
struct PortOffer {
  bool ethernet = false;
  std::vector<Gid> gids;  ///< of InfiniBand one, of which the first half is the subnet

  friend bool operator==(const PortOffer&, const PortOffer&) = default;
};

/// A pair of ports that reach each other, as places in two lists of offers.
struct PortPair {
  std::size_t own = 0;
  std::size_t ownGid = 0;
  std::size_t peer = 0;
  std::size_t peerGid = 0;
  bool routed = false;  ///< their networks seem to differ: a router must join them

  friend bool operator==(const PortPair&, const PortPair&) = default;
};

/// Ports as one word of at most `mostBytes`. Where it does not fit, addresses are left out first,
/// as long as ports have several, then ports; the last of each first.
std::string encodePorts(std::vector<PortOffer> ports, std::size_t mostBytes);

/// @errors InvalidArgument: it is no such word.
Result<std::vector<PortOffer>> decodePorts(std::string_view word);

/// For each port of `own` that reaches a port of `peer`, the best of those: GIDs of one network
/// before others, routable ones before link-local ones, ports of the same number before others.
/// The list of the other end is that of swapped ports only if `own` is the same side's in both:
/// see pathsBetween().
std::vector<PortPair> pairPorts(const std::vector<PortOffer>& own,
                                const std::vector<PortOffer>& peer);

/// The pairs of ports of two ranks, from the words by which they offer theirs. The other end has
/// the same list with sides swapped, and so have all ranks with the same words.
/// @errors those of decodePorts().
Result<std::vector<PortPair>> pathsBetween(std::string_view own, std::string_view peer);

}  // namespace rondo::verbs
