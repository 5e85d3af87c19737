#include "src/topology/ring_order.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace rondo {

namespace {

/// The groups of a home, outermost first.
constexpr std::size_t kGroups = 5;
using Groups = std::array<int, kGroups>;

Groups groupsOf(const RankHome& home) {
  return {home.host, home.package, home.node, home.l3, home.core};
}

/// For every rank and each of its groups: the lowest rank in that group. Sorted by these, groups
/// stay together and stand in the order of their first members.
std::vector<Groups> firstMembers(std::span<const RankHome> homes) {
  std::map<std::vector<int>, int> firstByGroup;  // a group is named by itself and those around it
  std::vector<Groups> first(homes.size());
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const Groups groups = groupsOf(homes[rank]);
    std::vector<int> name;
    for (std::size_t level = 0; level < kGroups; ++level) {
      name.push_back(groups[level]);
      first[rank][level] = firstByGroup.try_emplace(name, static_cast<int>(rank)).first->second;
    }
  }
  return first;
}

}  // namespace

RankHome homeOf(int host, const Topology& topology, const ProcessorMask& pinned) {
  const auto at = std::ranges::find_if(topology.processors, [&](const Processor& processor) {
    return pinned.contains(processor.os);
  });
  const Processor& processor = at == topology.processors.end() ? topology.processors.front() : *at;
  return {host, processor.package, processor.node, processor.l3, processor.core};
}

RankDistance distanceBetween(const RankHome& one, const RankHome& other) {
  const Groups groups = groupsOf(one);
  const Groups others = groupsOf(other);
  const auto differs = std::ranges::mismatch(groups, others).in1;
  return static_cast<RankDistance>(groups.end() - differs);
}

std::vector<int> ringOrder(std::span<const RankHome> homes) {
  const std::vector<Groups> first = firstMembers(homes);
  std::vector<int> order(homes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](int rank) { return first[static_cast<std::size_t>(rank)]; });
  std::vector<int> byRank(homes.size());
  std::iota(byRank.begin(), byRank.end(), 0);
  return ringHops(homes, byRank) == ringHops(homes, order) ? byRank : order;
}

std::array<int, kRankDistanceCount> ringHops(std::span<const RankHome> homes,
                                             std::span<const int> order) {
  std::array<int, kRankDistanceCount> hops{};
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto from = static_cast<std::size_t>(order[place]);
    const auto to = static_cast<std::size_t>(order[(place + 1) % order.size()]);
    if (from == to) continue;  // a rank alone
    ++hops[static_cast<std::size_t>(distanceBetween(homes[from], homes[to]))];
  }
  return hops;
}

}  // namespace rondo
