#include "src/topology/hwloc_topology.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <dlfcn.h>
#include <hwloc.h>

#include "src/loaded_function.h"
#include "src/topology/pci_device.h"

namespace rondo {

namespace {

/// The library's name on Linux since version 2.0 (2018).
constexpr const char* kHwlocLibrary = "libhwloc.so.15";

/// Components of hwloc with side effects. "x86" binds the calling thread to one processor after the
/// other. The others start a GPU's driver in the calling process: it takes long, and a process that
/// forks afterwards can't use the GPU. Linux and PCI tell what they would.
constexpr std::array kUnwantedComponents = {"x86",  "cuda",      "nvml", "opencl",
                                            "rsmi", "levelzero", "gl"};

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;
using BridgeAttributes = hwloc_obj_attr_u::hwloc_bridge_attr_s;

/// hwloc's functions that are used here.
struct Hwloc {
  decltype(&::hwloc_get_api_version) apiVersion;
  decltype(&::hwloc_topology_init) init;
  decltype(&::hwloc_topology_destroy) destroy;
  decltype(&::hwloc_topology_set_flags) setFlags;
  decltype(&::hwloc_topology_set_io_types_filter) setIoFilter;
  decltype(&::hwloc_topology_set_components) setComponents;
  decltype(&::hwloc_topology_set_synthetic) setSynthetic;
  decltype(&::hwloc_topology_set_xmlbuffer) setXml;
  decltype(&::hwloc_topology_load) load;
  decltype(&::hwloc_get_type_depth) typeDepth;
  decltype(&::hwloc_get_nbobjs_by_depth) objectCount;
  decltype(&::hwloc_get_obj_by_depth) object;
  decltype(&::hwloc_bitmap_first) first;
  decltype(&::hwloc_bitmap_weight) weight;
  decltype(&::hwloc_bitmap_isset) isSet;
  decltype(&::hwloc_distances_get_by_name) distances;
  decltype(&::hwloc_distances_release) releaseDistances;
};

bool findAll(void* library, Hwloc& to) {
  return findFunction(library, "hwloc_get_api_version", to.apiVersion) &&
         findFunction(library, "hwloc_topology_init", to.init) &&
         findFunction(library, "hwloc_topology_destroy", to.destroy) &&
         findFunction(library, "hwloc_topology_set_flags", to.setFlags) &&
         findFunction(library, "hwloc_topology_set_io_types_filter", to.setIoFilter) &&
         findFunction(library, "hwloc_topology_set_components", to.setComponents) &&
         findFunction(library, "hwloc_topology_set_synthetic", to.setSynthetic) &&
         findFunction(library, "hwloc_topology_set_xmlbuffer", to.setXml) &&
         findFunction(library, "hwloc_topology_load", to.load) &&
         findFunction(library, "hwloc_get_type_depth", to.typeDepth) &&
         findFunction(library, "hwloc_get_nbobjs_by_depth", to.objectCount) &&
         findFunction(library, "hwloc_get_obj_by_depth", to.object) &&
         findFunction(library, "hwloc_bitmap_first", to.first) &&
         findFunction(library, "hwloc_bitmap_weight", to.weight) &&
         findFunction(library, "hwloc_bitmap_isset", to.isSet) &&
         findFunction(library, "hwloc_distances_get_by_name", to.distances) &&
         findFunction(library, "hwloc_distances_release", to.releaseDistances);
}

/// It stays loaded until the process ends.
Result<Hwloc> loadHwloc() {
  void* const library = ::dlopen(kHwlocLibrary, RTLD_NOW | RTLD_LOCAL);
  Hwloc hwloc{};
  if (library == nullptr || !findAll(library, hwloc)) {
    return Status::notSupported(
        "cannot load {} ({}); install hwloc (package libhwloc15 on Debian and Ubuntu)",
        kHwlocLibrary,
        ::dlerror());  // NOLINT(concurrency-mt-unsafe): glibc keeps the text per thread
  }
  if (hwloc.apiVersion() >> 16U != HWLOC_API_VERSION >> 16U) {
    return Status::notSupported("{} has interface {:#x}; Rondo was built for {:#x}", kHwlocLibrary,
                                hwloc.apiVersion(), HWLOC_API_VERSION);
  }
  return hwloc;
}

struct DestroyTopology {
  const Hwloc* hwloc;

  void operator()(hwloc_topology_t topology) const { hwloc->destroy(topology); }
};

/// A topology of hwloc's that was loaded.
class LoadedTopology {
 public:
  /// @param description empty for this host, else as in readDescribedTopology()
  static Result<LoadedTopology> load(std::string_view description);

  std::vector<Processor> processors() const;
  std::vector<MemoryNode> nodes() const;
  std::vector<Device> devices() const;

 private:
  using Handle = std::unique_ptr<hwloc_topology, DestroyTopology>;

  LoadedTopology(const Hwloc& hwloc, Handle handle) : hwloc_(&hwloc), handle_(std::move(handle)) {}

  /// All objects at one of hwloc's depths, in logical order.
  std::vector<hwloc_obj_t> objects(int depth) const;
  /// The lowest processor of the object of `type` around `object`; -1 if there is none.
  int groupAround(hwloc_obj_t object, hwloc_obj_type_t type) const;
  /// The NUMA node of a processor; null if it has none.
  hwloc_obj_t nodeOf(unsigned processor) const;
  /// As in MemoryNode::distances, in the order of `nodes`.
  std::vector<int> distancesFrom(hwloc_obj_t node, const std::vector<hwloc_obj_t>& nodes) const;
  /// Where a PCI device is; its kind and name are left open.
  Device deviceAt(hwloc_obj_t pci) const;

  const Hwloc* hwloc_;  // loaded for good
  Handle handle_;
};

/// Has hwloc describe what is wanted.
bool choose(const Hwloc& hwloc, hwloc_topology_t topology, const std::string& description) {
  if (description.empty()) return true;
  if (!description.starts_with('<')) return hwloc.setSynthetic(topology, description.c_str()) == 0;
  const auto bytes = static_cast<int>(description.size() + 1);  // with the final zero
  return hwloc.setXml(topology, description.c_str(), bytes) == 0;
}

Result<LoadedTopology> LoadedTopology::load(std::string_view description) {
  static const Result<Hwloc> kLoaded = loadHwloc();
  RONDO_RETURN_IF_ERROR(kLoaded.status());
  const Hwloc& hwloc = *kLoaded;
  hwloc_topology_t raw = nullptr;
  if (hwloc.init(&raw) != 0) return Status::notSupported("hwloc does not start");
  Handle handle(raw, DestroyTopology{&hwloc});
  // What others may use is needed to name groups (Processor).
  (void)hwloc.setFlags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  (void)hwloc.setIoFilter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  for (const char* component : kUnwantedComponents) {  // fails for those it does not have
    (void)hwloc.setComponents(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  if (!choose(hwloc, raw, std::string(description)) || hwloc.load(raw) != 0) {
    if (description.empty()) return Status::notSupported("hwloc cannot read this host");
    return Status::invalidArgument(
        "hwloc does not understand the machine; it takes its own XML (lstopo machine.xml) or e.g. "
        "\"package:2 numa:1 l3:8 core:8 pu:1\"");
  }
  return LoadedTopology(hwloc, std::move(handle));
}

std::vector<hwloc_obj_t> LoadedTopology::objects(int depth) const {
  std::vector<hwloc_obj_t> found;
  const unsigned count = hwloc_->objectCount(handle_.get(), depth);
  for (unsigned index = 0; index < count; ++index)
    found.push_back(hwloc_->object(handle_.get(), depth, index));
  return found;
}

int LoadedTopology::groupAround(hwloc_obj_t object, hwloc_obj_type_t type) const {
  while (object != nullptr && object->type != type)
    object = object->parent;
  return object == nullptr ? -1 : hwloc_->first(object->cpuset);
}

hwloc_obj_t LoadedTopology::nodeOf(unsigned processor) const {
  // Several have it where memory of another kind lies next to ordinary memory. The smallest is the
  // one the operating system counts it to; among equals the first.
  hwloc_obj_t best = nullptr;
  for (const hwloc_obj_t node : objects(HWLOC_TYPE_DEPTH_NUMANODE)) {
    if (hwloc_->isSet(node->cpuset, processor) == 0) continue;
    if (best == nullptr || hwloc_->weight(node->cpuset) < hwloc_->weight(best->cpuset)) best = node;
  }
  return best;
}

std::vector<Processor> LoadedTopology::processors() const {
  std::vector<Processor> found;
  for (const hwloc_obj_t pu : objects(hwloc_->typeDepth(handle_.get(), HWLOC_OBJ_PU))) {
    const hwloc_obj_t node = nodeOf(pu->os_index);
    const int os = static_cast<int>(pu->os_index);
    const auto group = [&](hwloc_obj_type_t type, int otherwise) {
      const int first = groupAround(pu, type);
      return first < 0 ? otherwise : first;
    };
    const int nodeFirst = node == nullptr ? 0 : hwloc_->first(node->cpuset);
    found.push_back({.os = os,
                     .node = node == nullptr ? 0 : static_cast<int>(node->os_index),
                     .package = group(HWLOC_OBJ_PACKAGE, 0),
                     .l3 = group(HWLOC_OBJ_L3CACHE, nodeFirst),
                     .core = group(HWLOC_OBJ_CORE, os)});
  }
  std::ranges::sort(found, {}, &Processor::os);
  return found;
}

std::vector<MemoryNode> LoadedTopology::nodes() const {
  std::vector<hwloc_obj_t> all = objects(HWLOC_TYPE_DEPTH_NUMANODE);
  std::ranges::sort(all, {}, &hwloc_obj::os_index);
  std::vector<MemoryNode> found;
  for (const hwloc_obj_t node : all) {
    found.push_back({.os = static_cast<int>(node->os_index),
                     .bytes = node->attr->numanode.local_memory,
                     .distances = distancesFrom(node, all)});
  }
  return found;
}

/// The entry of `matrix` for two of its objects; nothing if it lacks one of them.
std::optional<int> entryOf(const hwloc_distances_s& matrix, hwloc_obj_t from, hwloc_obj_t to) {
  const std::span<const hwloc_obj_t> objects(matrix.objs, matrix.nbobjs);
  const auto row = std::ranges::find(objects, from);
  const auto column = std::ranges::find(objects, to);
  if (row == objects.end() || column == objects.end()) return std::nullopt;
  const auto index = (row - objects.begin()) * matrix.nbobjs + (column - objects.begin());
  return static_cast<int>(matrix.values[index]);
}

std::vector<int> LoadedTopology::distancesFrom(hwloc_obj_t node,
                                               const std::vector<hwloc_obj_t>& nodes) const {
  unsigned matrices = 1;
  hwloc_distances_s* matrix = nullptr;
  const int failed = hwloc_->distances(handle_.get(), "NUMALatency", &matrices, &matrix, 0);
  if (failed != 0 || matrices == 0 || matrix == nullptr) return {};
  std::vector<int> distances;
  for (const hwloc_obj_t other : nodes) {
    if (const std::optional<int> entry = entryOf(*matrix, node, other)) distances.push_back(*entry);
  }
  hwloc_->releaseDistances(handle_.get(), matrix);
  return distances.size() == nodes.size() ? distances : std::vector<int>{};
}

std::string busId(const PciAttributes& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain),
                     static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev),
                     static_cast<unsigned>(pci.func));
}

/// A bridge's name in Device::bridges.
std::string bridgeName(const BridgeAttributes& bridge) {
  if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) return busId(bridge.upstream.pci);
  return fmt::format("pci{:04x}:{:02x}", static_cast<unsigned>(bridge.downstream.pci.domain),
                     static_cast<unsigned>(bridge.downstream.pci.secondary_bus));
}

Device LoadedTopology::deviceAt(hwloc_obj_t pci) const {
  Device device;
  device.bus = busId(pci->attr->pcidev);
  hwloc_obj_t around = pci->parent;
  for (; around != nullptr && around->type == HWLOC_OBJ_BRIDGE; around = around->parent)
    device.bridges.insert(device.bridges.begin(), bridgeName(around->attr->bridge));
  if (around != nullptr && hwloc_->weight(around->nodeset) == 1) {
    device.node = hwloc_->first(around->nodeset);
  }
  return device;
}

/// What an object of hwloc's means to Rondo; nothing for disks and the like.
std::optional<DeviceKind> kindOf(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) {
    const PciAttributes& pci = object->attr->pcidev;
    if (!isGpu(pci.class_id >> 8U, pci.vendor_id)) return std::nullopt;
    return DeviceKind::kGpu;
  }
  switch (object->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_NETWORK:
      return DeviceKind::kNetwork;
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return DeviceKind::kVerbs;
    default:
      return std::nullopt;
  }
}

std::vector<Device> LoadedTopology::devices() const {
  std::vector<Device> found;
  for (const int depth : {HWLOC_TYPE_DEPTH_PCI_DEVICE, HWLOC_TYPE_DEPTH_OS_DEVICE}) {
    for (const hwloc_obj_t object : objects(depth)) {
      const std::optional<DeviceKind> kind = kindOf(object);
      const hwloc_obj_t pci = object->type == HWLOC_OBJ_PCI_DEVICE ? object : object->parent;
      if (!kind || pci->type != HWLOC_OBJ_PCI_DEVICE) continue;
      Device device = deviceAt(pci);
      device.kind = *kind;
      device.name = *kind == DeviceKind::kGpu ? device.bus : object->name;
      found.push_back(std::move(device));
    }
  }
  std::ranges::sort(found);
  return found;
}

Topology everything(const LoadedTopology& loaded) {
  Topology topology;
  topology.source = TopologySource::kHwloc;
  topology.processors = loaded.processors();
  topology.nodes = loaded.nodes();
  topology.devices = loaded.devices();
  return topology;
}

}  // namespace

Result<Topology> readHwlocTopology(const ProcessorMask& allowed) {
  const Result<LoadedTopology> loaded = LoadedTopology::load({});
  RONDO_RETURN_IF_ERROR(loaded.status());
  Topology topology = everything(*loaded);
  std::erase_if(topology.processors,
                [&](const Processor& processor) { return !allowed.contains(processor.os); });
  if (topology.nodes.empty() || topology.mask() != allowed) {
    return Status::notSupported("hwloc describes a host without some of the processors {}",
                                allowed.text());
  }
  return topology;
}

Result<Topology> readDescribedTopology(std::string_view description) {
  if (description.empty()) return Status::invalidArgument("the machine's description is empty");
  const Result<LoadedTopology> loaded = LoadedTopology::load(description);
  RONDO_RETURN_IF_ERROR(loaded.status());
  Topology topology = everything(*loaded);
  std::erase_if(topology.processors,
                [](const Processor& processor) { return processor.os >= ProcessorMask::kMost; });
  if (topology.processors.empty() || topology.nodes.empty()) {
    return Status::invalidArgument("the machine has no processors or no memory");
  }
  return topology;
}

}  // namespace rondo
