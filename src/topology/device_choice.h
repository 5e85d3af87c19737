// Which network device a rank should use: the one nearest to where its data are. All functions are
// pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/topology/pinning.h"
#include "src/topology/topology.h"

namespace rondo {

/// What lies between two devices, or between a processor and a device.
enum class DevicePath : std::uint8_t {
  kSameDevice,   ///< functions of one bus id
  kSwitch,       ///< PCI bridges only: data need not pass the processor
  kRootComplex,  ///< a root complex of the processor
  kNode,         ///< the NUMA node
  kNodes,        ///< several nodes
  kUnknown,      ///< one of the two does not say where it is
};

/// Smaller is nearer.
struct DeviceDistance {
  DevicePath path = DevicePath::kUnknown;
  /// Among equal paths: bridges that are passed; for kNodes what Topology::nodeDistance() says.
  int detail = 0;

  // The check mistakes a zero that the compiler adds: NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const DeviceDistance&, const DeviceDistance&) = default;
};

DeviceDistance deviceDistance(const Topology& topology, const Device& one, const Device& other);

/// From a processor of NUMA node `node`.
DeviceDistance deviceDistance(const Topology& topology, int node, const Device& device);

/// For each rank of one host, by local rank: the index in Topology::devices of the device of `kind`
/// that is nearest to its GPU, or to where it is pinned if it has none. Of equally near ones it
/// gets the one that fewest ranks before it have got, of those the first. Nothing where the host
/// has no such device.
/// @param ranks  of one host
/// @param pinned what pinRanks() says of these
/// @param usable names of devices that may be used (ports up, allowed by the user); empty: all
std::vector<std::optional<std::size_t>> chooseDevices(std::span<const LocalRank> ranks,
                                                      std::span<const ProcessorMask> pinned,
                                                      DeviceKind kind,
                                                      std::span<const std::string> usable = {});

}  // namespace rondo
