// How the command ends, for scripts.
#pragma once

#include "src/status.h"

namespace rondo::cli {

enum class ExitCode : int {
  kOk = 0,
  kBadFound = 1,  ///< `perf` found an element that is not what it must be, `doctor` a problem
  kUsage = 2,     ///< the command line cannot be carried out as written
  kFailure = 3,   ///< the library or the system failed
};

/// What a failure means for the caller of the command.
constexpr ExitCode exitCodeOf(StatusCode code) {
  if (code == StatusCode::kOk) return ExitCode::kOk;
  return code == StatusCode::kInvalidArgument ? ExitCode::kUsage : ExitCode::kFailure;
}

}  // namespace rondo::cli
