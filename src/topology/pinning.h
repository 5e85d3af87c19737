// Which processors a rank should run on. Suggestions only: the library binds no thread of its
// caller's (bindThisThread() does, in src/processors.h; `rondo run --bind` has it done). All
// functions are pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/processors.h"
#include "src/topology/topology.h"

namespace rondo {

/// Divides processors among `parts` threads or ranks, so that
/// - each gets at least one, and all are used;
/// - packages, then NUMA nodes, then third-level caches, then cores are shared by two parts only
///   where there are fewer of them than parts: a core's second thread is the last resort;
/// - larger groups have more parts, and consecutive parts are near each other.
/// With more parts than processors several parts have the same.
/// @param mask  what may be used; those that `topology` does not have are left out. Empty parts if
///              nothing is left.
/// @param parts at least 1
std::vector<ProcessorMask> divideProcessors(const Topology& topology,
                                            const ProcessorMask& mask,
                                            std::size_t parts);

/// A rank of a host, as seen by itself.
struct LocalRank {
  const Topology* topology = nullptr;  ///< not null; has the processors this rank may use
  int gpu = -1;                        ///< its GPU in Topology::devices; -1 if it has none
};

/// For each rank of one host, by local rank: the processors it should use, a subset of those it
/// may. A rank with a GPU stays on that GPU's node if it may use any processor there. Ranks that
/// may use the same processors divide them as above; sets that overlap without being equal are
/// their launcher's choice and not taken apart.
/// @param ranks of one host, by local rank
std::vector<ProcessorMask> pinRanks(std::span<const LocalRank> ranks);

/// The ranks of one host where nothing but their number is known: GPUs are dealt out in turn.
/// @param topology must outlive the result
/// @param ranks    at least 0
std::vector<LocalRank> localRanks(const Topology& topology, int ranks);

/// How far a rank is bound.
enum class Binding {
  kNone,   ///< not at all
  kShare,  ///< to its share: what pinRanks() gives it
  kNuma,   ///< to the NUMA nodes that its share touches
  kCore,   ///< to the core with which its share begins
};

/// The processors of `topology` that a rank is bound to whose share is `share`.
ProcessorMask boundTo(const Topology& topology, const ProcessorMask& share, Binding binding);

}  // namespace rondo
