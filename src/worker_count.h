// How many threads may carry out an operation of each rank: as many as the rank has cores for
// itself. What ranks tell each other of their cores, and the one number that all draw from it,
// since a plan has as many channels on all ranks. Which calls are worth it, src/planner.cc says.
#pragma once

#include <span>

#include "src/planner.h"
#include "src/processors.h"

namespace rondo {

/// The cores of some processors, and the NUMA nodes that they are on. A core is named by the lowest
/// of its processors, whether or not it may be used: all ranks of a machine name it alike.
struct CoreUse {
  ProcessorMask cores;
  ProcessorMask nodes;
};

/// A rank, as far as its workers are concerned.
struct RankCores {
  int machine = 0;     ///< whose cores: equal for ranks of one machine
  CoreUse use{};       ///< of the processors that it may use
  int quota = 0;       ///< processors that its control groups let be busy; 0: no limit
  int most = 1;        ///< workers that it would have at most, by its settings
  bool asked = false;  ///< `most` was chosen, and is not to depend on the cores
};

/// What is true of all ranks.
struct WorkerFacts {
  int workers = 1;     ///< 1 to kMostWorkers
  bool asked = false;  ///< by all ranks: their cores do not matter
  int nodes = 1;       ///< NUMA nodes that the ranks of all machines are on
};

/// The least of what each rank would have, and of its share of cores: a core that k ranks of a
/// machine may use counts as one k-th for each. A core's second thread counts nothing. A quota is
/// taken for one of all ranks of the machine, as in a container. Pure.
/// @param ranks at least one
WorkerFacts workerFacts(std::span<const RankCores> ranks);

/// Has plans count on them.
void setWorkers(const WorkerFacts& workers, PlanFacts& facts);

}  // namespace rondo
