// All that `rondo doctor` knows of a machine, as one value, and what it makes of it. Tests make up
// machines; the command reads the one it runs on.
#pragma once

#include <vector>

#include "src/cli/doctor/adapters.h"
#include "src/cli/doctor/finding.h"
#include "src/cli/doctor/gpus.h"
#include "src/cli/doctor/kernel.h"
#include "src/cli/doctor/limits.h"
#include "src/cli/doctor/memory.h"
#include "src/cli/doctor/network.h"
#include "src/cli/doctor/pairs.h"
#include "src/cli/doctor/processors.h"
#include "src/cli/doctor/settings.h"
#include "src/cli/doctor/shared_memory.h"

namespace rondo::doctor {

struct MachineFacts {
  SettingFacts settings;
  ProcessorFacts processors;
  MemoryFacts memory;
  SharedMemoryFacts sharedMemory;
  LimitFacts limits;
  KernelFacts kernel;
  NetworkFacts network;
  AdapterFacts adapters;
  GpuFacts gpus;
  PairFacts pairs;
};

/// Reads everything. Variables that are not accepted count as not set for the
/// rest.
/// @param ranks that are started to be measured; 0: none
/// @threads of a process that has one thread
MachineFacts readMachine(int ranks);

/// One section for each part, in the order of MachineFacts. Pure.
std::vector<Section> examine(const MachineFacts& facts);

}  // namespace rondo::doctor
