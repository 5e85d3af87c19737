// Predicts how long an operation takes on host memory, on one host or on several. Only the order of
// predictions matters: the planner takes the smallest.
#pragma once

#include "collectives/any_schedule.h"
#include "src/planner.h"

namespace rondo {

/// The machine, in a few numbers: fitted by eye to two processes on two virtual Zen 3 cores that
/// share no cache (docs/performance.md), where steps cost most; the network's are rough ones for
/// sockets over 10 Gbit/s.
/// `rondo explain` shows what they predict, `rondo perf --algorithm all` what is true.
struct HostCosts {
  double hopMicros = 0.3;          ///< a posted counter seen by a polling peer
  double crowdedHopMicros = 4.0;   ///< the same when ranks share processors: a switch of threads
  double stepMicros = 0.25;        ///< fixed work of a step: lines that move
  double slotMicros = 0.15;        ///< the same of each slot that it posts
  double bytesPerMicro = 20000.0;  ///< one processor writing slots, or reading them
  double addedBytesPerMicro = 35000.0;  ///< one processor adding to what it reads from a slot
  double wireHopMicros = 30.0;          ///< a slot from host to host, besides its bytes
  double wireSlotMicros = 5.0;        ///< system calls of a rank for each slot that leaves its host
  double wireBytesPerMicro = 1000.0;  ///< leaving a host, all its ranks together
  double handOverMicros = 15.0;  ///< until sleeping workers run, and the last one's end is seen
  double workerMicros = 2.0;     ///< for each of them: a system call that wakes it
  /// Of a NUMA node's memory, read or written: a rough number, as servers have from 50 to 300 GB/s.
  double nodeBytesPerMicro = 60000.0;
};

/// Microseconds from the first rank's call to the last rank's return.
double predictMicros(const Plan& plan,
                     const PlanRequest& request,
                     const PlanFacts& facts,
                     const HostCosts& costs);

}  // namespace rondo
