#include "src/topology/topology.h"

#include <algorithm>

#include "src/check.h"
#include "src/topology/hwloc_topology.h"
#include "src/topology/sys_topology.h"

namespace rondo {

namespace {

// What Linux assumes where firmware is silent (LOCAL_DISTANCE, REMOTE_DISTANCE).
constexpr int kLocalDistance = 10;
constexpr int kRemoteDistance = 20;

}  // namespace

std::string_view deviceKindName(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kNetwork:
      return "network";
    case DeviceKind::kVerbs:
      return "verbs";
  }
  return "";
}

ProcessorMask Topology::mask() const {
  ProcessorMask mask;
  for (const Processor& processor : processors)
    mask.add(processor.os);
  return mask;
}

int Topology::nodeDistance(int from, int to) const {
  const auto find = [this](int os) { return std::ranges::find(nodes, os, &MemoryNode::os); };
  const auto origin = find(from);
  const auto target = find(to);
  if (origin != nodes.end() && target != nodes.end()) {
    const auto index = static_cast<std::size_t>(target - nodes.begin());
    if (index < origin->distances.size()) return origin->distances[index];
  }
  return from == to ? kLocalDistance : kRemoteDistance;
}

Topology findTopology() {
  const ProcessorMask allowed = allowedProcessors();
  Result<Topology> found = readHwlocTopology(allowed);
  if (found.ok()) return *std::move(found);
  return readSysTopology("/sys", allowed);
}

Topology flatTopology(const ProcessorMask& allowed) {
  RONDO_CHECK(!allowed.empty());
  Topology topology;
  for (const int os : allowed.list())
    topology.processors.push_back({.os = os, .core = os});
  topology.nodes.push_back({});
  return topology;
}

}  // namespace rondo
