// This program as one rank of a communicator whose ranks are processes: what the section
// "processes" starts. Who it is and which GPU it has is in the environment (docs/bootstrap.md).
#pragma once

#include <string_view>

#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

inline constexpr std::string_view kProcessRankFlag = "--process-rank";

/// Makes a few calls and says on the standard output by what the ranks reach each other, what is
/// wrong, or why nothing was run.
/// @return kPassed, kFailed or kNothingRun (nothing was run)
Verdict runAsProcessRank(const Extent& extent);

}  // namespace rondo::gpucheck
