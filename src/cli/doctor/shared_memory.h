// Shared memory: whether ranks of this host can have it, tried with the library's own arena.
#pragma once

#include <cstddef>
#include <optional>

#include "src/cli/doctor/finding.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo::doctor {

struct SharedMemoryFacts {
  Status arena;                              ///< of making an arena for a rank on each processor
  Status taken;                              ///< of then taking 2 MiB of it
  std::size_t hugeBytes = 0;                 ///< of what came in huge pages
  std::optional<std::size_t> fileSizeBytes;  ///< ulimit -f
  bool wanted = true;                        ///< RONDO_TRANSPORT has shm
  bool replaced = true;  ///< RONDO_TRANSPORT has another that reaches ranks of this host
};

/// Takes 2 MiB of shared memory and gives them back.
SharedMemoryFacts readSharedMemory(const Config& config);

/// Pure.
Findings examine(const SharedMemoryFacts& facts);

}  // namespace rondo::doctor
