#include "src/topology/device_choice.h"

#include <algorithm>
#include <map>

#include "src/check.h"
#include "src/topology/ring_order.h"

namespace rondo {

namespace {

DeviceDistance nodesApart(const Topology& topology, int one, int other) {
  if (one < 0 || other < 0) return {DevicePath::kUnknown, 0};
  if (one == other) return {DevicePath::kNode, 0};
  return {DevicePath::kNodes, topology.nodeDistance(one, other)};
}

std::vector<std::size_t> candidates(const Topology& topology,
                                    DeviceKind kind,
                                    std::span<const std::string> usable) {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < topology.devices.size(); ++index) {
    const Device& device = topology.devices[index];
    const bool allowed = usable.empty() || std::ranges::find(usable, device.name) != usable.end();
    if (device.kind == kind && allowed) found.push_back(index);
  }
  return found;
}

DeviceDistance distanceOf(const LocalRank& rank,
                          const ProcessorMask& pinned,
                          const Device& device) {
  const Topology& topology = *rank.topology;
  if (rank.gpu >= 0) {
    return deviceDistance(topology, topology.devices[static_cast<std::size_t>(rank.gpu)], device);
  }
  return deviceDistance(topology, homeOf(0, topology, pinned).node, device);
}

}  // namespace

DeviceDistance deviceDistance(const Topology& topology, const Device& one, const Device& other) {
  if (one.bus == other.bus) return {DevicePath::kSameDevice, 0};
  const auto shared = std::ranges::mismatch(one.bridges, other.bridges).in1 - one.bridges.begin();
  const auto all = static_cast<std::ptrdiff_t>(one.bridges.size() + other.bridges.size());
  const int passed = static_cast<int>(all - 2 * shared);
  if (shared >= 2) return {DevicePath::kSwitch, passed};
  if (shared == 1) return {DevicePath::kRootComplex, passed};
  return nodesApart(topology, one.node, other.node);
}

DeviceDistance deviceDistance(const Topology& topology, int node, const Device& device) {
  return nodesApart(topology, node, device.node);
}

std::vector<std::optional<std::size_t>> chooseDevices(std::span<const LocalRank> ranks,
                                                      std::span<const ProcessorMask> pinned,
                                                      DeviceKind kind,
                                                      std::span<const std::string> usable) {
  RONDO_CHECK(pinned.size() == ranks.size());
  std::map<std::size_t, int> usersOf;  // by device
  std::vector<std::optional<std::size_t>> chosen(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Topology& topology = *ranks[rank].topology;
    std::optional<std::pair<DeviceDistance, int>> least;
    for (const std::size_t device : candidates(topology, kind, usable)) {
      const std::pair cost(distanceOf(ranks[rank], pinned[rank], topology.devices[device]),
                           usersOf[device]);
      if (least && *least <= cost) continue;
      least = cost;
      chosen[rank] = device;
    }
    if (chosen[rank]) ++usersOf[*chosen[rank]];
  }
  return chosen;
}

}  // namespace rondo
