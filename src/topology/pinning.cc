#include "src/topology/pinning.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
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

/// A group and how many parts it is divided into so far.
struct Share {
  std::size_t cores = 0;
  std::size_t threads = 0;
  std::size_t parts = 1;

  /// 2: has a core for another part; 1: a core's second thread; 0: neither.
  int room() const { return parts < cores ? 2 : parts < threads ? 1 : 0; }

  std::size_t weight() const { return room() == 2 ? cores : threads; }
};

/// True if the next part should go to `one` rather than to `other`: to where more room is, else to
/// where it gets more.
bool offersMore(const Share& one, const Share& other) {
  if (one.room() != other.room()) return one.room() > other.room();
  // weight / (parts + 1), without dividing
  return one.weight() * (other.parts + 1) > other.weight() * (one.parts + 1);
}

/// How many of `parts` each group gets: one, and the rest one by one to the group that offers most,
/// the first of equal ones (the method of D'Hondt).
std::vector<Share> apportion(std::span<const Processors> groups, std::size_t parts) {
  std::vector<Share> shares;
  for (const Processors& group : groups)
    shares.push_back({groupsOf(group, kCoreLevel).size(), group.size()});
  for (std::size_t given = groups.size(); given < parts; ++given)
    ++std::ranges::min_element(shares, offersMore)->parts;
  return shares;
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
  const std::vector<Share> shares = apportion(groups, parts.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    divide(groups[group], level + 1, parts.first(shares[group].parts));
    parts = parts.subspan(shares[group].parts);
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

std::vector<LocalRank> localRanks(const Topology& topology, int ranks) {
  std::vector<int> gpus;
  for (std::size_t index = 0; index < topology.devices.size(); ++index) {
    if (topology.devices[index].kind == DeviceKind::kGpu) gpus.push_back(static_cast<int>(index));
  }
  std::vector<LocalRank> result;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    result.push_back({&topology, gpus.empty() ? -1 : gpus[rank % gpus.size()]});
  }
  return result;
}

ProcessorMask boundTo(const Topology& topology, const ProcessorMask& share, Binding binding) {
  if (binding == Binding::kNone) return topology.mask();
  if (binding == Binding::kShare) return share;
  const auto level = binding == Binding::kNuma ? &Processor::node : &Processor::core;
  std::set<int> groups;
  for (const Processor& processor : topology.processors) {
    const bool counts = binding == Binding::kNuma || processor.os == share.first();
    if (counts && share.contains(processor.os)) groups.insert(processor.*level);
  }
  ProcessorMask bound;
  for (const Processor& processor : topology.processors)
    if (groups.contains(processor.*level)) bound.add(processor.os);
  return bound;
}

}  // namespace rondo
