#include "src/worker_cores.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/control_group.h"
#include "src/topology/sys_topology.h"

namespace rondo {

CoreUse coresOf(const Topology& topology) {
  CoreUse use;
  for (const Processor& processor : topology.processors) {
    use.cores.add(processor.core);
    use.nodes.add(processor.node);
  }
  return use;
}

namespace {

bool coresMatter(const Config& config, const ProcessorMask& processors) {
  return config.workers != 1 && config.mostWorkers > 1 && processors.count() > 1;
}

}  // namespace

CoreUse coresFor(const Config& config, const ProcessorMask& processors) {
  return coresMatter(config, processors) ? coresOf(readSysCores("/sys", processors)) : CoreUse{};
}

int quotaFor(const Config& config, const ProcessorMask& processors) {
  if (!coresMatter(config, processors)) return 0;
  const std::optional<double> limit = readGroupLimits().processors;
  constexpr double kMost = ProcessorMask::kMost;
  return limit.has_value() ? static_cast<int>(std::clamp(*limit, 1.0, kMost)) : 0;
}

PlanFacts factsOn(const Topology& topology, int ranks, const Config& config, int quota) {
  PlanFacts facts = planFacts(ranks, static_cast<int>(topology.processors.size()), config);
  const RankCores rank = {.use = coresOf(topology),
                          .quota = quota,
                          .most = workersBySettings(facts, config),
                          .asked = config.workers > 0};
  setWorkers(workerFacts(std::vector<RankCores>(static_cast<std::size_t>(ranks), rank)), facts);
  return facts;
}

PlanFacts factsOfThreads(int ranks, const Config& config) {
  const ProcessorMask processors = allowedProcessors();
  // With fewer there are no two cores for each, whatever belongs together.
  const bool matters = processors.count() / 2 >= ranks;
  return factsOn(matters ? readSysCores("/sys", processors) : flatTopology(processors), ranks,
                 config, matters ? quotaFor(config, processors) : 0);
}

}  // namespace rondo
