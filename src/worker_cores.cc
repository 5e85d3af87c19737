#include "src/worker_cores.h"

#include <vector>

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

CoreUse coresFor(const Config& config, const ProcessorMask& processors) {
  const bool none = config.workers == 1 || config.mostWorkers == 1 || processors.count() < 2;
  return none ? CoreUse{} : coresOf(readSysCores("/sys", processors));
}

PlanFacts factsOn(const Topology& topology, int ranks, const Config& config) {
  PlanFacts facts = planFacts(ranks, static_cast<int>(topology.processors.size()), config);
  const RankCores rank = {.use = coresOf(topology),
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
                 config);
}

}  // namespace rondo
