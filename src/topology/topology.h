// What a host looks like to a process: its processors and what they share, memory nodes, GPUs and
// network devices. A plain value; where the knowledge comes from is in hwloc_topology.h and
// sys_topology.h, what follows from it in pinning.h, ring_order.h and device_choice.h.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/processors.h"

namespace rondo {

/// A logical processor and the groups it belongs to. Groups are named by the lowest processor in
/// them, allowed or not: so ranks that may use different parts of a host name them alike.
struct Processor {
  int os = 0;    ///< the operating system's number
  int node = 0;  ///< its NUMA node, MemoryNode::os
  int package = 0;
  int l3 = 0;  ///< those that share the third-level cache; without one, those of the node
  int core = 0;

  friend bool operator==(const Processor&, const Processor&) = default;
};

/// A NUMA node.
struct MemoryNode {
  int os = 0;               ///< the operating system's number
  std::uint64_t bytes = 0;  ///< of memory; 0 if unknown
  /// To Topology::nodes, in their order, as firmware tells it: 10 is local. Empty if unknown.
  std::vector<int> distances;

  friend bool operator==(const MemoryNode&, const MemoryNode&) = default;
};

enum class DeviceKind : std::uint8_t {
  kGpu,      ///< a display or 3D controller that is no mere console
  kNetwork,  ///< a network interface: "eth0"
  kVerbs,    ///< an RDMA device: "mlx5_0"
};

/// "gpu", "network", "verbs".
std::string_view deviceKindName(DeviceKind kind);

/// A device on the PCI bus. Those without a place on it (loopback, bridges, bonds) are left out.
struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  std::string name;  ///< of an interface or RDMA device; of a GPU its bus id
  std::string bus;   ///< PCI bus id: "0000:17:00.0"
  int node = -1;     ///< NUMA node it is near to; -1 if unknown
  /// The way to it: root complex ("pci0000:16"), then the bus ids of the bridges, outermost first.
  std::vector<std::string> bridges;

  // The check mistakes a zero that the compiler adds: NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const Device&, const Device&) = default;
};

/// Where a Topology comes from.
enum class TopologySource : std::uint8_t { kHwloc, kSys };

struct Topology {
  TopologySource source = TopologySource::kSys;
  std::vector<Processor> processors;  ///< those that may be used; ascending, never empty
  std::vector<MemoryNode> nodes;      ///< all of the host; ascending, never empty
  std::vector<Device> devices;        ///< all of the host; by kind, name, bus

  /// The processors as a set.
  ProcessorMask mask() const;

  /// The distance that firmware tells; 10 for the same node, 20 for others, where it does not.
  int nodeDistance(int from, int to) const;

  friend bool operator==(const Topology&, const Topology&) = default;
};

/// This host, as far as the calling thread may use it: by hwloc, else by /sys. It always gives
/// something: where the system tells nothing, all processors are alike and on one node. Takes
/// milliseconds; keep the value.
Topology findTopology();

/// What is true of a host about which nothing is known but its processors.
/// @param allowed not empty
Topology flatTopology(const ProcessorMask& allowed);

}  // namespace rondo
