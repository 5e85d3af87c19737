#include "src/control/family_hint.h"

#include <algorithm>

#include "src/format.h"
#include "src/net/address_list.h"

namespace rondo {

namespace {

bool hasFamily(const RankAddresses& rank, AddressFamily family) {
  return std::ranges::any_of(rank.addresses, [family](const SocketAddress& address) {
    return address.family() == family;
  });
}

bool haveInCommon(const RankAddresses& one, const RankAddresses& other, AddressFamily family) {
  return hasFamily(one, family) && hasFamily(other, family);
}

/// "rank 1 IPv6 only ([fd00::1]:4000)", of a rank that has one family.
std::string describe(const RankAddresses& rank) {
  return fmt::format("rank {} {} only ({})", rank.rank,
                     hasFamily(rank, AddressFamily::kIpv4) ? "IPv4" : "IPv6",
                     listAddresses(rank.addresses));
}

}  // namespace

std::string familyHint(const RankAddresses& own, const RankAddresses& peer) {
  if (own.addresses.empty() || peer.addresses.empty()) return {};
  for (const AddressFamily family : {AddressFamily::kIpv4, AddressFamily::kIpv6})
    if (haveInCommon(own, peer, family)) return {};
  return fmt::format(
      "; {} and {} have no address family in common: unless the network joins them, give both one "
      "by RONDO_INTERFACE or RONDO_ADVERTISE",
      describe(own), describe(peer));
}

}  // namespace rondo
