// What users have set for NCCL, said in Rondo's variables, so that a job's environment goes on
// working. Variables of Rondo's own come first.
#pragma once

#include <string>
#include <vector>

#include "src/config.h"

namespace rondo::nccl {

/// What NCCL's variables of an environment come to.
struct Translation {
  Environment settings;            ///< of Rondo
  std::vector<std::string> notes;  ///< for the log: one for each variable of NCCL's that is set
};

/// Pure.
/// @param all an environment; Rondo's variables in it are left as they are
Translation translate(const Environment& all);

/// Has Rondo's settings follow NCCL's variables, once per process, and logs how at level info.
/// @threads any
void adoptEnvironment();

}  // namespace rondo::nccl
