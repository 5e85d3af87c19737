// Which of this host's addresses others should use to reach it. The choice is a pure function of a
// list, so that it can be tested; findInterfaceAddresses() gets the list from the system.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/socket_address.h"
#include "src/status.h"

namespace rondo {

/// One address of a network interface. An interface with several has several of these.
struct InterfaceAddress {
  std::string name;       ///< "eth0"
  SocketAddress address;  ///< port 0
  bool up = true;
  bool running = true;  ///< has a carrier
};

/// All addresses of this host, those of interfaces that are down too, in the system's order.
/// @errors   SystemError.
Result<std::vector<InterfaceAddress>> findInterfaceAddresses();

/// Which interfaces may be used: "eth*,ib0" names those that may, "^docker*,lo" those that may not;
/// `*` stands for any characters. Empty: all. Only up and running ones are of use, whatever the
/// pattern.
struct InterfaceRule {
  std::string_view pattern;
  /// This host's address towards the peer, or towards the world: its interface is preferred.
  std::optional<SocketAddress> routed;
};

/// The usable addresses, best first:
/// 1. loopback only if a pattern names it or there is nothing else, because a peer on another host
///    that is told 127.0.0.1 dials itself;
/// 2. link-local ones last, IPv6 ones not at all: they mean nothing without an interface's name;
/// 3. those of the interface that routes to the peer first;
/// 4. bridges and pairs of containers and virtual machines after real interfaces;
/// 5. otherwise the order of `all`.
/// Pure.
/// @errors   InvalidArgument (pattern that leaves nothing; the message lists what there is).
Result<std::vector<InterfaceAddress>> rankInterfaces(std::span<const InterfaceAddress> all,
                                                     const InterfaceRule& rule);

/// Why rankInterfaces(all, rule) leaves `candidate`, one of `all`, out; empty: it does not. Pure.
std::string whyLeftOut(const InterfaceAddress& candidate,
                       std::span<const InterfaceAddress> all,
                       const InterfaceRule& rule);

/// The first `most` of a ranked list, but with both families among them if the list has both: a
/// peer may have only one of them. Pure.
std::vector<InterfaceAddress> takeBest(std::span<const InterfaceAddress> ranked, std::size_t most);

/// The address that this host would use towards `peer`; nothing if there is no way. Sends nothing.
std::optional<SocketAddress> routedAddress(const SocketAddress& peer);

/// The address that this host would use towards the world. Sends nothing.
std::optional<SocketAddress> defaultRoutedAddress();

/// "10.0.0.1 (eth0), fd00::1 (eth0)", for messages.
std::string listInterfaces(std::span<const InterfaceAddress> addresses);

}  // namespace rondo
