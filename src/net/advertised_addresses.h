// Where others are told to find a socket that listens at all addresses of this host.
#pragma once

#include <string>
#include <vector>

#include "src/net/socket_address.h"
#include "src/status.h"

namespace rondo {

/// What the user says about addresses.
struct AddressRule {
  /// Which interfaces may be used; see InterfaceRule::pattern. Empty: the library chooses.
  std::string interfaces{};
  /// The one address to give instead of the interfaces': "10.0.0.1", or with a port, where that is
  /// forwarded to the listening one. Empty: the library chooses.
  std::string advertised{};
};

/// The best addresses for reaching `listening`, best first.
/// @param listening where the socket listens: an IPv4 address means no IPv6.
/// @param most      at least 2
/// @param what      whose addresses they are; for the log.
/// @errors InvalidArgument (rule; the message lists what there is), SystemError.
Result<std::vector<SocketAddress>> addressesToAdvertise(const AddressRule& rule,
                                                        const SocketAddress& listening,
                                                        std::size_t most,
                                                        std::string_view what);

}  // namespace rondo
