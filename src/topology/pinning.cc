#include "src/topology/pinning.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "collectives/partition.h"
#include "src/check.h"

namespace rondo {

namespace {

using Processors = std::span<const Processor>;
using Parts = std::span<ProcessorMask>;

/// The groups around a processor, outermost first; at the end itself.
constexpr std::array kLevels = {&Processor::package, &Processor::node, &Processor::l3,
                                &Processor::core, &Processor::os};
constexpr std::size_t kCoreLevel = 3;

/// In this order every group of every level is a range.
bool liesBefore(const Processor& one, const Processor& other) {
  for (const auto level : kLevels) {
    if (one.*level != other.*level) return one.*level < other.*level;
  }
  return false;
}

/// The groups of one level.
std::vector<Processors> groupsOf(Processors processors, std::size_t level) {
  std::vector<Processors> groups;
  while (!processors.empty()) {
    std::size_t size = 1;
    while (size < processors.size() &&
           processors[size].*kLevels[level] == processors[0].*kLevels[level])
      ++size;
    groups.push_back(processors.first(size));
    processors = processors.subspan(size);
  }
  return groups;
}

/// What a group has to offer: its cores, and among groups that are cores, its threads.
std::size_t weightOf(Processors group, std::size_t level) {
  return level < kCoreLevel ? groupsOf(group, kCoreLevel).size() : group.size();
}

/// How many of `parts` each group gets: one, and of the rest as many as its weight is worth. Each
/// part goes to the group that has most weight per part with it; equal ones take turns from the
/// first (the method of D'Hondt).
std::vector<std::size_t> apportion(std::span<const Processors> groups,
                                   std::size_t level,
                                   std::size_t parts) {
  std::vector<std::size_t> counts(groups.size(), 1);
  for (std::size_t given = groups.size(); given < parts; ++given) {
    std::size_t best = 0;
    for (std::size_t group = 1; group < groups.size(); ++group) {
      // weight / (count + 1), without dividing
      if (weightOf(groups[group], level) * (counts[best] + 1) >
          weightOf(groups[best], level) * (counts[group] + 1)) {
        best = group;
      }
    }
    ++counts[best];
  }
  return counts;
}

void addAll(Processors processors, ProcessorMask& to) {
  for (const Processor& processor : processors)
    to.add(processor.os);
}

/// Gives each part whole groups, consecutive ones. There are at least as many groups as parts.
void shareGroups(std::span<const Processors> groups, Parts parts) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const Span share = evenShare(groups.size(), parts.size(), part, 1);
    for (const Processors& group : groups.subspan(share.offset, share.elems))
      addAll(group, parts[part]);
  }
}

void divide(Processors processors, std::size_t level, Parts parts) {
  if (parts.size() == 1 || level == kLevels.size()) {
    for (ProcessorMask& part : parts)
      addAll(processors, part);
    return;
  }
  const std::vector<Processors> groups = groupsOf(processors, level);
  if (parts.size() <= groups.size()) return shareGroups(groups, parts);
  const std::vector<std::size_t> counts = apportion(groups, level, parts.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    divide(groups[group], level + 1, parts.first(counts[group]));
    parts = parts.subspan(counts[group]);
  }
}

/// What a rank may use, near its GPU if it has one.
ProcessorMask candidatesOf(const LocalRank& rank) {
  const ProcessorMask allowed = rank.topology->mask();
  if (rank.gpu < 0) return allowed;
  const int node = rank.topology->devices[static_cast<std::size_t>(rank.gpu)].node;
  ProcessorMask near;
  for (const Processor& processor : rank.topology->processors) {
    if (processor.node == node) near.add(processor.os);
  }
  return near.empty() ? allowed : near;
}

}  // namespace

std::vector<ProcessorMask> divideProcessors(const Topology& topology,
                                            const ProcessorMask& mask,
                                            std::size_t parts) {
  RONDO_CHECK(parts >= 1);
  std::vector<Processor> processors;
  std::ranges::copy_if(topology.processors, std::back_inserter(processors),
                       [&](const Processor& processor) { return mask.contains(processor.os); });
  std::ranges::sort(processors, liesBefore);
  std::vector<ProcessorMask> result(parts);
  if (!processors.empty()) divide(processors, 0, result);
  return result;
}

std::vector<ProcessorMask> pinRanks(std::span<const LocalRank> ranks) {
  std::map<ProcessorMask, std::vector<std::size_t>> byCandidates;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    byCandidates[candidatesOf(ranks[rank])].push_back(rank);
  std::vector<ProcessorMask> pinned(ranks.size());
  for (const auto& [candidates, members] : byCandidates) {
    const Topology& topology = *ranks[members.front()].topology;
    const auto shares = divideProcessors(topology, candidates, members.size());
    for (std::size_t member = 0; member < members.size(); ++member)
      pinned[members[member]] = shares[member];
  }
  return pinned;
}

}  // namespace rondo
