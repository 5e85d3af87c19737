// `rondo explain --topology`: the machine, and where ranks should run on it.
#pragma once

#include <string>

#include "src/status.h"
#include "src/topology/topology.h"

namespace rondo::cli {

/// The machine as an indented tree, then a line per rank (processors, home, GPU, network device)
/// and the ring. Where the machine has GPUs, rank r has the GPU r modulo their number.
/// @param ranks all on this machine, at least 1
std::string topologyText(const Topology& topology, int ranks);

/// For the command line.
/// @param machine empty: this host; else what readDescribedTopology() takes, or the name of a file
///                with it
/// @errors InvalidArgument, NotSupported
Result<Topology> topologyOf(const std::string& machine);

}  // namespace rondo::cli
