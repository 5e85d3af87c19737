// Predicts how long an operation takes on host memory. Only the order of predictions matters: the
// planner takes the smallest.
#pragma once

#include "collectives/any_schedule.h"
#include "src/planner.h"

namespace rondo {

/// The machine, in a few numbers: rough ones for a server processor, not fitted to measurements.
/// `rondo explain` shows what they predict, `rondo perf --algorithm all` what is true.
struct HostCosts {
  double hopMicros = 0.3;         ///< a posted counter seen by a polling peer
  double crowdedHopMicros = 4.0;  ///< the same when ranks share processors: a switch of threads
  double stepMicros = 0.08;       ///< fixed work of a step, and of each slot it posts
  double bytesPerMicro = 6000.0;  ///< one processor reading and writing slots
};

/// Microseconds from the first rank's call to the last rank's return.
double predictMicros(const Plan& plan,
                     const PlanRequest& request,
                     const PlanFacts& facts,
                     const HostCosts& costs);

}  // namespace rondo
