// Processors: how many a rank may use, and what holds it back on them.
#pragma once

#include <optional>
#include <string>

#include "src/cli/doctor/finding.h"
#include "src/control_group.h"
#include "src/processors.h"

namespace rondo::doctor {

struct ProcessorFacts {
  std::string model;
  int ofMachine = 1;            ///< online
  ProcessorMask allowed;        ///< this process's affinity
  std::optional<double> quota;  ///< GroupLimits::processors
};

ProcessorFacts readProcessors(const GroupLimits& limits);

/// Pure.
Findings examine(const ProcessorFacts& facts);

}  // namespace rondo::doctor
