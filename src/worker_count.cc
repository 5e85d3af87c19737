#include "src/worker_count.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rondo {

namespace {

/// By machine and core.
using UsersOfCores = std::map<std::pair<int, int>, int>;

UsersOfCores usersOfCores(std::span<const RankCores> ranks) {
  UsersOfCores users;
  for (const RankCores& rank : ranks) {
    for (const int core : rank.use.cores.list())
      ++users[{rank.machine, core}];
  }
  return users;
}

/// Cores that `rank` has for itself, whole ones.
int coresOfOne(const RankCores& rank, const UsersOfCores& users) {
  constexpr double kRounding = 1e-6;  // of sums such as ten tenths
  double share = 0;
  for (const int core : rank.use.cores.list())
    share += 1.0 / users.at({rank.machine, core});
  return static_cast<int>(share + kRounding);
}

/// The same, and no more than the quota of the ranks of its machine lets be busy.
int shareOf(const RankCores& rank, const UsersOfCores& users, std::span<const RankCores> ranks) {
  const int cores = coresOfOne(rank, users);
  if (rank.quota == 0) return cores;
  const auto members = std::ranges::count(ranks, rank.machine, &RankCores::machine);
  return std::min(cores, rank.quota / static_cast<int>(members));
}

int nodesOf(std::span<const RankCores> ranks) {
  std::map<int, ProcessorMask> byMachine;
  for (const RankCores& rank : ranks)
    byMachine[rank.machine] |= rank.use.nodes;
  int nodes = 0;
  for (const auto& [machine, mask] : byMachine)
    nodes += mask.count();
  return std::max(nodes, 1);
}

}  // namespace

WorkerFacts workerFacts(std::span<const RankCores> ranks) {
  WorkerFacts facts;
  facts.nodes = nodesOf(ranks);
  facts.asked = std::ranges::all_of(ranks, &RankCores::asked);
  facts.workers = kMostWorkers;
  const UsersOfCores users = usersOfCores(ranks);
  for (const RankCores& rank : ranks) {
    const int own = rank.asked ? rank.most : std::min(rank.most, shareOf(rank, users, ranks));
    facts.workers = std::min(facts.workers, own);
  }
  facts.workers = std::max(facts.workers, 1);
  return facts;
}

void setWorkers(const WorkerFacts& workers, PlanFacts& facts) {
  facts.workers = workers.workers;
  facts.workersAsked = workers.asked;
  facts.memoryNodes = workers.nodes;
}

}  // namespace rondo
