#include "src/topology/sys_topology.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "src/topology/pci_device.h"

namespace rondo {

namespace {

namespace fs = std::filesystem;

/// The first line of a file; empty if there is none.
std::string lineOf(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

/// The number in a file, in decimal or "0x" notation.
std::optional<int> numberOf(const fs::path& path) {
  const std::string line = lineOf(path);
  std::string_view text = line;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

/// The entries of a folder by name; none if it cannot be read.
std::vector<fs::path> entriesOf(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

// ---- processors and memory ---------------------------------------------------------------------

/// A NUMA node with the processors that belong to it.
struct SysNode {
  MemoryNode memory;
  ProcessorMask processors;
};

std::uint64_t memoryBytes(const fs::path& meminfo) {
  std::ifstream file(meminfo);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t key = line.find("MemTotal:");  // "Node 0 MemTotal:  10578132 kB"
    std::uint64_t kib = 0;
    if (key != std::string::npos && std::istringstream(line.substr(key + 9)) >> kib)
      return kib * 1024;
  }
  return 0;
}

std::vector<int> numbersIn(const std::string& line) {
  std::istringstream words(line);
  std::vector<int> numbers;
  for (int number = 0; words >> number;)
    numbers.push_back(number);
  return numbers;
}

std::vector<SysNode> readNodes(const fs::path& root) {
  const fs::path folder = root / "devices/system/node";
  std::vector<SysNode> nodes;
  for (const int os : ProcessorMask::parse(lineOf(folder / "online")).list()) {
    const fs::path node = folder / fmt::format("node{}", os);
    nodes.push_back({.memory = {.os = os,
                                .bytes = memoryBytes(node / "meminfo"),
                                .distances = numbersIn(lineOf(node / "distance"))},
                     .processors = ProcessorMask::parse(lineOf(node / "cpulist"))});
  }
  return nodes;
}

/// The lowest processor in the list that a file holds; `otherwise` if there is none.
int firstOf(const fs::path& list, int otherwise) {
  const int first = ProcessorMask::parse(lineOf(list)).first();
  return first < 0 ? otherwise : first;
}

int thirdLevelCache(const fs::path& processor, int otherwise) {
  for (const fs::path& cache : entriesOf(processor / "cache")) {
    if (numberOf(cache / "level") == 3) return firstOf(cache / "shared_cpu_list", otherwise);
  }
  return otherwise;
}

fs::path folderOf(const fs::path& root, int processor) {
  return root / fmt::format("devices/system/cpu/cpu{}", processor);
}

/// The core that a processor belongs to.
int coreOf(const fs::path& processor, int os) {
  return firstOf(processor / "topology/thread_siblings_list", os);
}

Processor readProcessor(const fs::path& root, int os, const std::vector<SysNode>& nodes) {
  const fs::path folder = folderOf(root, os);
  const auto node = std::ranges::find_if(
      nodes, [os](const SysNode& candidate) { return candidate.processors.contains(os); });
  const bool known = node != nodes.end();
  return {.os = os,
          .node = known ? node->memory.os : 0,
          // The names of before Linux 5.3 are still there.
          .package = firstOf(folder / "topology/core_siblings_list", 0),
          .l3 = thirdLevelCache(folder, known ? node->processors.first() : 0),
          .core = coreOf(folder, os)};
}

// ---- devices -----------------------------------------------------------------------------------

/// True for "0000:17:00.0".
bool isBusId(const std::string& name) {
  constexpr std::string_view kForm = "xx:xx.x";  // after the domain, which has four digits or more
  const std::size_t domain = name.find(':');
  if (domain == std::string::npos || domain < 4 || name.size() != domain + 1 + kForm.size()) {
    return false;
  }
  const auto isHex = [](char letter) {
    return std::isxdigit(static_cast<unsigned char>(letter)) != 0;
  };
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char form = at <= domain ? (at == domain ? ':' : 'x') : kForm[at - domain - 1];
    if (form == 'x' ? !isHex(name[at]) : name[at] != form) return false;
  }
  return true;
}

/// The device that `entry` of a class or bus belongs to, by the folders it really lies in:
/// /sys/devices/pci0000:16/0000:16:02.0/0000:17:00.0/net/eth0.
std::optional<Device> placeOf(const fs::path& entry) {
  std::error_code error;
  const fs::path real = fs::canonical(entry, error);
  if (error) return std::nullopt;
  Device device;
  fs::path folder;
  fs::path deviceFolder;
  for (const fs::path& part : real) {
    folder /= part;
    const std::string name = part.string();
    if (isBusId(name)) {
      if (!device.bus.empty()) device.bridges.push_back(device.bus);
      device.bus = name;
      deviceFolder = folder;
    } else if (name.starts_with("pci") && device.bridges.empty() && device.bus.empty()) {
      device.bridges.push_back(name);
    }
  }
  if (device.bus.empty()) return std::nullopt;
  device.node = numberOf(deviceFolder / "numa_node").value_or(-1);
  return device;
}

void addDevices(const fs::path& folder, DeviceKind kind, std::vector<Device>& devices) {
  for (const fs::path& entry : entriesOf(folder)) {
    if (kind == DeviceKind::kGpu) {
      const auto classes = static_cast<unsigned>(numberOf(entry / "class").value_or(0));
      const auto vendor = static_cast<unsigned>(numberOf(entry / "vendor").value_or(0));
      if (!isGpu(classes >> 16U, vendor)) continue;
    }
    std::optional<Device> device = placeOf(entry);
    if (!device) continue;
    device->kind = kind;
    device->name = entry.filename().string();
    devices.push_back(*std::move(device));
  }
}

std::vector<Device> readDevices(const fs::path& root) {
  std::vector<Device> devices;
  addDevices(root / "bus/pci/devices", DeviceKind::kGpu, devices);
  addDevices(root / "class/net", DeviceKind::kNetwork, devices);
  addDevices(root / "class/infiniband", DeviceKind::kVerbs, devices);
  std::ranges::sort(devices);
  return devices;
}

}  // namespace

Topology readSysCores(const fs::path& root, const ProcessorMask& allowed) {
  Topology topology = flatTopology(allowed);
  for (Processor& processor : topology.processors)
    processor.core = coreOf(folderOf(root, processor.os), processor.os);
  for (const SysNode& node : readNodes(root)) {
    for (Processor& processor : topology.processors)
      if (node.processors.contains(processor.os)) processor.node = node.memory.os;
  }
  return topology;
}

Topology readSysTopology(const fs::path& root, const ProcessorMask& allowed) {
  const std::vector<SysNode> nodes = readNodes(root);
  Topology topology = flatTopology(allowed);
  for (Processor& processor : topology.processors)
    processor = readProcessor(root, processor.os, nodes);
  topology.devices = readDevices(root);
  if (nodes.empty()) return topology;
  topology.nodes.clear();
  for (const SysNode& node : nodes)
    topology.nodes.push_back(node.memory);
  if (nodes.size() > 1) return topology;
  for (Device& device : topology.devices)  // firmware does not say so where there is one only
    device.node = nodes.front().memory.os;
  return topology;
}

}  // namespace rondo
