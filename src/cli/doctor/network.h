// Network interfaces: which of their addresses a rank tells others, and why not the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/doctor/finding.h"
#include "src/config.h"
#include "src/net/interfaces.h"
#include "src/status.h"

namespace rondo::doctor {

struct NetworkFacts {
  Status listed;                            ///< of listing them
  std::vector<InterfaceAddress> addresses;  ///< in the system's order
  std::string pattern;                      ///< RONDO_INTERFACE
  std::optional<SocketAddress> routed;      ///< this host's, towards the world
  std::string advertised;                   ///< RONDO_ADVERTISE
};

NetworkFacts readNetwork(const Config& config);

/// Pure.
Findings examine(const NetworkFacts& facts);

}  // namespace rondo::doctor
