#include "src/cli/doctor/limits.h"

#include <algorithm>

#include "src/cli/doctor/process_limit.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

/// A rank takes a socket for each connection over tcp and each link of its control plane: with
/// fewer than this even a few dozen peers use them up.
constexpr std::size_t kFewFiles = 256;

/// A rank's process has a thread of its own for the control plane, one for the rendezvous where it
/// is rank 0, and its program's; this leaves room for a few ranks and their launcher.
constexpr std::size_t kFewProcesses = 64;

Finding openFiles(const LimitFacts& facts) {
  if (!facts.openFiles) return ok("a process may have any number of files and sockets open");
  const std::string text =
      fmt::format("a process may have {} files and sockets open", *facts.openFiles);
  if (*facts.openFiles >= kFewFiles) return ok(text);
  return warning(
      fmt::format("{}; each connection over tcp and each link of the control plane is one", text),
      facts.openFilesMost ? fmt::format("ulimit -n {}", *facts.openFilesMost)
                          : "ulimit -n unlimited");
}

Finding processes(const LimitFacts& facts) {
  if (facts.processesLeft && *facts.processesLeft < kFewProcesses) {
    return warning(fmt::format("the control group leaves room for {} processes and threads; each "
                               "rank is a process with two or three",
                               *facts.processesLeft),
                   "docker run --pids-limit 4096 ..., or TasksMax=4096 (systemd)");
  }
  if (facts.processes && *facts.processes < kFewProcesses) {
    return warning(fmt::format("the user may have {} processes and threads; each rank is a process "
                               "with two or three",
                               *facts.processes),
                   "ulimit -u 4096");
  }
  return ok("processes and threads are not short");
}

}  // namespace

LimitFacts readLimits(const GroupLimits& limits) {
  return {processLimit(RLIMIT_NOFILE), processLimitMost(RLIMIT_NOFILE), processLimit(RLIMIT_NPROC),
          limits.processesLeft};
}

Findings examine(const LimitFacts& facts) {
  return {openFiles(facts), processes(facts)};
}

}  // namespace rondo::doctor
