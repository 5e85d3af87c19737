// What of ncclConfig_t means something to Rondo.
#pragma once

#include <optional>
#include <string>

#include "rondo/nccl/nccl.h"
#include "rondo/rondo.h"
#include "src/status.h"

namespace rondo::nccl {

/// A program's wishes for a communicator, copied: they may be heeded later than the call.
struct CommWishes {
  std::string name;              ///< empty: none
  std::optional<int> device;     ///< empty: memory of the host
  std::optional<bool> blocking;  ///< whether calls wait; empty: as Rondo has it

  /// Whether the program wishes anything.
  bool any() const { return !name.empty() || blocking.has_value(); }

  /// As Rondo takes them; good while this object lives.
  rondoConfig_t toRondo() const;
};

/// The wishes in `config`; those that are NCCL's own are ignored, with a line at level info.
/// @param config NULL: none. May be shorter than this version's.
/// @errors InvalidArgument (not made by NCCL_CONFIG_INITIALIZER, or a value that is never right)
Result<CommWishes> readConfig(const ncclConfig_t* config);

}  // namespace rondo::nccl
