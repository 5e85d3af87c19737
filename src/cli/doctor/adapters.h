// InfiniBand and RoCE adapters: which ports can be used, and whether enough memory can be locked
// for them.
#pragma once

#include <cstddef>
#include <optional>

#include "src/cli/doctor/finding.h"
#include "src/config.h"
#include "src/status.h"
#include "transports/verbs/make_transport.h"

namespace rondo::doctor {

struct AdapterFacts {
  Status searched;              ///< of looking for them
  verbs::AdapterSurvey survey;  ///< if that went well
  bool wanted = true;           ///< RONDO_TRANSPORT has verbs
  bool alone = false;           ///< RONDO_TRANSPORT has nothing else for ranks of other hosts
  std::optional<std::size_t> lockedBytes;  ///< ulimit -l
  bool locksAnyway = false;                ///< has the capability IPC_LOCK
  std::size_t slotBytes = 0;               ///< Config::slotMemoryBytes
};

AdapterFacts readAdapters(const Config& config);

/// Pure.
Findings examine(const AdapterFacts& facts);

}  // namespace rondo::doctor
