// The adapters of the double: what queries answer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

namespace rondo::testing {

using GidBytes = std::array<std::uint8_t, 16>;

struct GidPlace {
  GidBytes bytes{};
  ibv_gid_type type = IBV_GID_TYPE_IB;
};

/// An adapter of one port.
struct Adapter : ibv_device {
  /// The one of this name and place among all adapters.
  Adapter(std::string_view adapterName, bool isEthernet, int place);

  /// Whether a packet to this address reaches the port.
  bool isAt(bool global, const GidBytes& gid, std::uint16_t packetLid) const;

  bool ethernet;
  bool active = true;
  bool broken = false;
  int silentAfter = -1;  ///< requests, from then on it loses what it sends; -1: it never does
  std::uint16_t lid;
  std::vector<GidPlace> gids;
  std::atomic<int> requests = 0;
};

/// Those that the environment describes.
std::vector<std::unique_ptr<Adapter>> adaptersFromEnvironment();

/// The number that the environment has for `variable`.
int numberFrom(const char* variable, int otherwise);

}  // namespace rondo::testing
