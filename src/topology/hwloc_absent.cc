// In place of hwloc_topology.cc in a build without hwloc's header.
#include "src/topology/hwloc_topology.h"

namespace rondo {

namespace {

Status absent() {
  return Status::notSupported("Rondo was built without hwloc (RONDO_HWLOC)");
}

}  // namespace

Result<Topology> readHwlocTopology(const ProcessorMask& /*allowed*/) {
  return absent();
}

Result<Topology> readDescribedTopology(std::string_view /*description*/) {
  return absent();
}

}  // namespace rondo
