// What a process may open and start.
#pragma once

#include <cstddef>
#include <optional>

#include "src/cli/doctor/finding.h"
#include "src/control_group.h"

namespace rondo::doctor {

struct LimitFacts {
  std::optional<std::size_t> openFiles;      ///< ulimit -n
  std::optional<std::size_t> openFilesMost;  ///< to which the user may raise it
  std::optional<std::size_t> processes;      ///< ulimit -u: of the user, threads too
  std::optional<std::size_t> processesLeft;  ///< GroupLimits::processesLeft
};

LimitFacts readLimits(const GroupLimits& limits);

/// Pure.
Findings examine(const LimitFacts& facts);

}  // namespace rondo::doctor
