#include "perf/race/harness/launch.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/race/harness/failure.h"
#include "perf/race/harness/options.h"
#include "perf/race/harness/rank.h"

namespace rondo::race {

namespace {

/// A rank that is a process of its own; never returns.
[[noreturn]] void runProcess(SharedMemoryName meetingName,
                             int rank,
                             const Options& options,
                             Waiting waiting,
                             const MakeLibrary& makeLibrary) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(options.deadlineSeconds);
  int status = 0;
  {
    Meeting meeting(meetingName, rank, options.ranks, waiting);
    const std::unique_ptr<Library> library = makeLibrary(meeting);
    status = raceRank(meeting, *library, options);
  }
  std::fflush(stdout);
  // Without the libraries' handlers of exit, which are not what is measured.
  ::_exit(status);
}

int exitStatus(int waitStatus) {
  return WIFEXITED(waitStatus) ? WEXITSTATUS(waitStatus) : 128 + WTERMSIG(waitStatus);
}

/// Waits for all; ends the others when one fails otherwise than by a wrong result.
int waitForAll(std::vector<pid_t> running) {
  int worst = 0;
  while (!running.empty()) {
    int waitStatus = 0;
    std::erase(running, ::wait(&waitStatus));
    // What the others say after one failed is that they were killed.
    if (worst > 1) continue;
    worst = std::max(worst, exitStatus(waitStatus));
    if (worst <= 1) continue;
    for (const pid_t process : running) {
      ::kill(process, SIGKILL);
    }
  }
  return worst;
}

}  // namespace

int raceProcesses(int argc, char** argv, Waiting waiting, const MakeLibrary& makeLibrary) {
  const Options options = parseOptions(argc, argv);
  const SharedMemoryName meetingName = Meeting::make();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t process = ::fork();
    if (process < 0) failSystem("fork");
    if (process == 0) runProcess(meetingName, rank, options, waiting, makeLibrary);
    processes.push_back(process);
  }
  return waitForAll(processes);
}

int raceThreads(int argc, char** argv, const MakeForAll& makeForAll) {
  const Options options = parseOptions(argc, argv);
  ::alarm(options.deadlineSeconds);
  const SharedMemoryName meetingName = Meeting::make();
  const MakeLibrary makeLibrary = makeForAll(options.ranks);
  std::vector<int> statuses(static_cast<std::size_t>(options.ranks));
  std::vector<std::jthread> ranks;
  ranks.reserve(statuses.size());
  for (int rank = 0; rank < options.ranks; ++rank) {
    ranks.emplace_back([&, rank] {
      Meeting meeting(meetingName, rank, options.ranks, Waiting::kSpin);
      const std::unique_ptr<Library> library = makeLibrary(meeting);
      statuses[static_cast<std::size_t>(rank)] = raceRank(meeting, *library, options);
    });
  }
  ranks.clear();
  return *std::max_element(statuses.begin(), statuses.end());
}

}  // namespace rondo::race
