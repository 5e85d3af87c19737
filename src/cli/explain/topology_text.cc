#include "src/cli/explain/topology_text.h"

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "src/cli/text_table.h"
#include "src/size_text.h"
#include "src/topology/device_choice.h"
#include "src/topology/hwloc_topology.h"
#include "src/topology/pinning.h"
#include "src/topology/ring_order.h"
#include "src/worker_cores.h"

namespace rondo::cli {

namespace {

std::string headText(const Topology& topology) {
  const char* const source = topology.source == TopologySource::kHwloc ? "hwloc" : "/sys";
  return fmt::format("machine, by {}: {} processors may be used: {}\n", source,
                     topology.processors.size(), topology.mask().text());
}

std::string nodeText(const Topology& topology, const MemoryNode& node) {
  std::string text = fmt::format("    node {}", node.os);
  if (node.bytes > 0) text += fmt::format("  {}", formatSize(node.bytes));
  text += "  distances";
  for (const MemoryNode& other : topology.nodes)
    text += fmt::format(" {}", topology.nodeDistance(node.os, other.os));
  return text + "\n";
}

/// The caches of a node within a package, each with the processors that share it; empty if none of
/// the node's processors in the package may be used.
std::string cachesText(const Topology& topology, int package, int node) {
  std::map<int, ProcessorMask> byCache;
  for (const Processor& processor : topology.processors) {
    if (processor.package == package && processor.node == node) {
      byCache[processor.l3].add(processor.os);
    }
  }
  std::string text;
  for (const auto& [cache, mask] : byCache) {
    std::map<int, int> cores;
    for (const Processor& processor : topology.processors) {
      if (mask.contains(processor.os)) ++cores[processor.core];
    }
    text += fmt::format("      L3 {}  cores {}  processors {}\n", cache, cores.size(), mask.text());
  }
  return text;
}

std::string devicesText(const Topology& topology) {
  if (topology.devices.empty()) return "  no GPU and no network device on a PCI bus\n";
  TextTable table({"device", "name", "bus", "node", "below"});
  for (const Device& device : topology.devices) {
    std::string below;
    for (const std::string& bridge : device.bridges)
      below += fmt::format("{}{}", below.empty() ? "" : " > ", bridge);
    table.add({std::string(deviceKindName(device.kind)), device.name, device.bus,
               device.node < 0 ? "?" : fmt::format("{}", device.node), below});
  }
  return table.text();
}

std::string machineText(const Topology& topology) {
  std::set<int> packages;
  std::set<int> usedNodes;
  for (const Processor& processor : topology.processors) {
    packages.insert(processor.package);
    usedNodes.insert(processor.node);
  }
  std::string text = headText(topology);
  for (const int package : packages) {
    text += fmt::format("  package {}\n", package);
    for (const MemoryNode& node : topology.nodes) {
      const std::string caches = cachesText(topology, package, node.os);
      if (!caches.empty()) text += nodeText(topology, node) + caches;
    }
  }
  if (usedNodes.size() < topology.nodes.size()) text += "  without processors that may be used\n";
  for (const MemoryNode& node : topology.nodes) {
    if (!usedNodes.contains(node.os)) text += nodeText(topology, node);
  }
  return text + devicesText(topology);
}

std::string deviceName(const Topology& topology, std::optional<std::size_t> device) {
  return device ? topology.devices[*device].name : "-";
}

std::string ringText(const std::vector<RankHome>& homes) {
  const std::vector<int> order = ringOrder(homes);
  std::string text = "\nring\n ";
  for (const int rank : order)
    text += fmt::format(" {} ->", rank);
  text += fmt::format(" {}\n  hops:", order.front());
  constexpr std::array kNames = {"in a core",    "in a cache",  "in a node",
                                 "in a package", "in the host", "between hosts"};
  static_assert(kNames.size() == kRankDistanceCount);
  const auto hops = ringHops(homes, order);
  std::string list;
  for (std::size_t distance = 0; distance < hops.size(); ++distance) {
    if (hops[distance] == 0) continue;
    list += fmt::format("{} {} {}", list.empty() ? "" : ",", hops[distance], kNames[distance]);
  }
  return text + (list.empty() ? " none" : list) + "\n";
}

std::string ranksText(const Topology& topology, int ranks) {
  const std::vector<LocalRank> locals = localRanks(topology, ranks);
  const std::vector<ProcessorMask> pinned = pinRanks(locals);
  const auto network = chooseDevices(locals, pinned, DeviceKind::kNetwork);
  const auto verbs = chooseDevices(locals, pinned, DeviceKind::kVerbs);
  TextTable table({"rank", "package", "node", "L3", "gpu", "network", "verbs", "processors"});
  std::vector<RankHome> homes;
  for (std::size_t rank = 0; rank < locals.size(); ++rank) {
    const RankHome home = homeOf(0, topology, pinned[rank]);
    const int gpu = locals[rank].gpu;
    table.add({fmt::format("{}", rank), fmt::format("{}", home.package),
               fmt::format("{}", home.node), fmt::format("{}", home.l3),
               gpu < 0 ? "-" : topology.devices[static_cast<std::size_t>(gpu)].name,
               deviceName(topology, network[rank]), deviceName(topology, verbs[rank]),
               pinned[rank].text()});
    homes.push_back(home);
  }
  const int workers = factsOn(topology, ranks, Config{}).workers;
  return fmt::format("\n{} ranks here should run on\n", ranks) + table.text() +
         fmt::format("\nworkers\n  {} of a rank at most\n", workers) + ringText(homes);
}

}  // namespace

std::string topologyText(const Topology& topology, int ranks) {
  return machineText(topology) + ranksText(topology, ranks);
}

Result<Topology> topologyOf(const std::string& machine) {
  if (machine.empty()) return findTopology();
  std::ifstream file(machine);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  Result<Topology> topology = readDescribedTopology(content.empty() ? machine : content);
  if (topology.ok()) return topology;
  return std::move(topology).status().withContext("--machine");
}

}  // namespace rondo::cli
