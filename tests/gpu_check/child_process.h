// Other programs that this one starts and waits for, with their output and a deadline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/cli/run/rank_process.h"
#include "src/net/deadline.h"
#include "src/status.h"

namespace rondo::gpucheck {

/// How a process ended.
struct ChildEnd {
  bool inTime = true;   ///< else it was killed at the deadline
  int exitStatus = -1;  ///< -1: it was killed by a signal
  int signal = 0;
  std::string output;  ///< both streams, as they came

  /// "exited with 1", "was killed by signal 11", "did not end in time".
  std::string text() const;

  /// The last line of the output that says anything.
  std::string lastLine() const;
};

/// Runs all at the same time.
/// @param tick called now and then meanwhile
/// @errors those of run::startRank(); nothing is left running
Result<std::vector<ChildEnd>> runProcesses(const std::vector<run::RankProgram>& programs,
                                           Deadline deadline,
                                           const std::function<void()>& tick = {});

/// The path of this program.
std::string ownPath();

}  // namespace rondo::gpucheck
