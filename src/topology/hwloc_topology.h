// The topology as hwloc tells it. hwloc is loaded at run time, when first needed, and its names
// stay in hwloc_topology.cc; where it was missing at build time hwloc_absent.cc takes its place.
#pragma once

#include <string_view>

#include "src/status.h"
#include "src/topology/topology.h"

namespace rondo {

/// This host, reduced to the processors in `allowed`.
/// @errors NotSupported: not compiled with hwloc, no libhwloc.so.15 here, or what hwloc describes
///         is not this host (the user can have it read a file).
Result<Topology> readHwlocTopology(const ProcessorMask& allowed);

/// A machine that need not exist, with all its processors (those below ProcessorMask::kMost).
/// @param description hwloc's XML (starts with '<'), or its synthetic form, e.g.
///                    "package:2 numa:1 l3:8 core:8 pu:1"
/// @errors NotSupported as above; InvalidArgument if hwloc does not understand the description
Result<Topology> readDescribedTopology(std::string_view description);

}  // namespace rondo
