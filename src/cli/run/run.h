// `rondo run`: starts ranks on this host, passes their output on, and ends them together.
#pragma once

#include "src/cli/run/options.h"
#include "src/status.h"

namespace rondo::run {

/// Runs the program on all ranks until all have ended. Leaves no process behind.
/// @return what this command should exit with: 0, or the code of the first rank that failed, 128
/// more
///   than the signal if one killed it
/// @threads of a process that has one thread
/// @errors InvalidArgument (the program, the output folder), SystemError
Result<int> runRanks(const RunOptions& options);

}  // namespace rondo::run
