// Addresses as one text.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads such a list, without blanks.
/// @errors InvalidArgument, saying what is accepted.
inline Result<std::vector<SocketAddress>> parseAddresses(std::string_view list, char separator) {
  std::vector<SocketAddress> addresses;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    const Result<SocketAddress> address = SocketAddress::parse(list.substr(0, end));
    RONDO_RETURN_IF_ERROR(address.status());
    addresses.push_back(*address);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return addresses;
}

}  // namespace rondo
