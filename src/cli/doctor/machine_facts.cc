#include "src/cli/doctor/machine_facts.h"

#include "src/cli/doctor/pair_ranks.h"
#include "src/control_group.h"

namespace rondo::doctor {

MachineFacts readMachine(int ranks) {
  MachineFacts facts;
  const Environment environment = processEnvironment();
  const Config config = acceptedSettings(environment);
  const GroupLimits limits = readGroupLimits();
  // First, as the driver of GPUs starts threads that the ranks' processes must not be forked from.
  facts.pairs = measurePairs(ranks, loadConfig(nullptr, environment));
  facts.settings = readSettings();
  facts.processors = readProcessors(limits);
  facts.memory = readMemory(limits, config);
  facts.sharedMemory = readSharedMemory(config);
  facts.limits = readLimits(limits);
  facts.kernel = readKernel();
  facts.network = readNetwork(config);
  facts.adapters = readAdapters(config);
  facts.gpus = readGpus(config);
  return facts;
}

std::vector<Section> examine(const MachineFacts& facts) {
  std::vector<Section> sections = {
      {"settings", examine(facts.settings)}, {"processors", examine(facts.processors)},
      {"memory", examine(facts.memory)},     {"shared memory", examine(facts.sharedMemory)},
      {"limits", examine(facts.limits)},     {"kernel", examine(facts.kernel)},
      {"network", examine(facts.network)},   {"adapters", examine(facts.adapters)},
      {"gpus", examine(facts.gpus)}};
  if (facts.pairs.ranks > 0) sections.push_back({"pairs", examine(facts.pairs)});
  return sections;
}

}  // namespace rondo::doctor
