// The topology as Linux tells it in /sys: for hosts without hwloc.
#pragma once

#include <filesystem>

#include "src/topology/topology.h"

namespace rondo {

/// The host, reduced to the processors in `allowed`. Whatever cannot be read is as in
/// flatTopology(): containers and emulated kernels may show an empty /sys.
/// @param root    "/sys", or a copy of it
/// @param allowed not empty
Topology readSysTopology(const std::filesystem::path& root, const ProcessorMask& allowed);

/// The same, but of processors their cores and NUMA nodes alone, and no devices: in a fraction of
/// the time.
Topology readSysCores(const std::filesystem::path& root, const ProcessorMask& allowed);

}  // namespace rondo
