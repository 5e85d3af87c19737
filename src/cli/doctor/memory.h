// Memory: whether there is enough for the slots of a rank.
#pragma once

#include <cstddef>
#include <optional>

#include "src/cli/doctor/finding.h"
#include "src/config.h"
#include "src/control_group.h"

namespace rondo::doctor {

struct MemoryFacts {
  std::size_t totalBytes = 0;                    ///< of the machine; 0: unknown
  std::size_t availableBytes = 0;                ///< within the control group's limit
  std::optional<std::size_t> groupBytes;         ///< the control group's limit
  std::optional<std::size_t> addressSpaceBytes;  ///< ulimit -v
  std::size_t slotBytes = 0;                     ///< Config::slotMemoryBytes
};

MemoryFacts readMemory(const GroupLimits& limits, const Config& config);

/// Pure.
Findings examine(const MemoryFacts& facts);

}  // namespace rondo::doctor
