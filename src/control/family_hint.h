// Why two ranks may not reach each other although both are there: one knows addresses of IPv4 only,
// the other of IPv6 only.
#pragma once

#include <span>
#include <string>

#include "src/net/socket_address.h"

namespace rondo {

/// A rank and where it can be reached, as it told the others.
struct RankAddresses {
  int rank = 0;
  std::span<const SocketAddress> addresses;
};

/// For the message of a connection that could not be made: which families each has, and what to
/// set. Empty if they have one in common, or one of them has no address at all. Pure.
std::string familyHint(const RankAddresses& own, const RankAddresses& peer);

}  // namespace rondo
