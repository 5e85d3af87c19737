// The cores that src/worker_count.h counts: as a topology has them, and as this machine does.
#pragma once

#include "src/config.h"
#include "src/processors.h"
#include "src/topology/topology.h"
#include "src/worker_count.h"

namespace rondo {

/// Of all processors of `topology`. Pure.
CoreUse coresOf(const Topology& topology);

/// Of `processors` of this machine, for a communicator with `config`; empty where nothing depends
/// on them. Reads a file for each.
CoreUse coresFor(const Config& config, const ProcessorMask& processors);

/// RankCores::quota of this process, for a communicator with `config`; 0 where nothing depends on
/// it.
int quotaFor(const Config& config, const ProcessorMask& processors);

/// What is true of ranks that all may use the processors of `topology`. Pure.
/// @param quota as in RankCores
PlanFacts factsOn(const Topology& topology, int ranks, const Config& config, int quota = 0);

/// What is true of ranks that are threads, and may use what the calling thread may.
PlanFacts factsOfThreads(int ranks, const Config& config);

}  // namespace rondo
