// In which order ranks should stand on a ring so that neighbours are close. All functions are pure:
// ranks that put in the same get the same.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "src/processors.h"
#include "src/topology/topology.h"

namespace rondo {

/// Where a rank lives: its host, and there what its processor belongs to (see Processor).
struct RankHome {
  int host = 0;  ///< equal for ranks of one host
  int package = 0;
  int node = 0;
  int l3 = 0;
  int core = 0;

  friend bool operator==(const RankHome&, const RankHome&) = default;
};

/// The home of a rank that runs on `pinned`: where the first of these processors lies.
/// @param topology has a processor of `pinned`, or the home is that of its own first processor
RankHome homeOf(int host, const Topology& topology, const ProcessorMask& pinned);

/// How far two ranks are apart: the innermost group that has both.
enum class RankDistance : std::uint8_t {
  kSameCore,
  kSameL3,
  kSameNode,
  kSamePackage,
  kSameHost,
  kOtherHost,
};

constexpr std::size_t kRankDistanceCount = 6;

/// A group has both only if the groups around it do, so that distances nest; where a cache spans
/// two NUMA nodes the nodes count.
RankDistance distanceBetween(const RankHome& one, const RankHome& other);

/// The ranks in ring order; the last is followed by the first. Every host, package, node and cache
/// is entered once, which no order can undercut. Within that, ranks that come first stand first: if
/// rank order is already as good, it is the answer.
std::vector<int> ringOrder(std::span<const RankHome> homes);

/// By RankDistance: how many hops of the ring `order` go so far.
std::array<int, kRankDistanceCount> ringHops(std::span<const RankHome> homes,
                                             std::span<const int> order);

}  // namespace rondo
