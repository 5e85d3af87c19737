// Addresses as one text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/net/socket_address.h"

namespace rondo {

/// "10.0.0.1:4000, [fd00::1]:4000", for messages; with another separator, for machines.
inline std::string listAddresses(std::span<const SocketAddress> addresses,
                                 std::string_view separator = ", ") {
  std::string list;
  for (const SocketAddress& address : addresses) {
    if (!list.empty()) list += separator;
    list += address.text();
  }
  return list;
}

}  // namespace rondo
