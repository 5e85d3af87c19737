// Starts the ranks of libraries that have no launcher of their own.
#pragma once

#include <functional>
#include <memory>

#include "perf/race/harness/library.h"
#include "perf/race/harness/meeting.h"

namespace rondo::race {

/// Makes one rank's hold on the library; called by each rank.
using MakeLibrary = std::function<std::unique_ptr<Library>(Meeting& meeting)>;

/// The main function of a race between processes: makes them, and ends them all when one fails.
/// @return the exit status.
int raceProcesses(int argc, char** argv, Waiting waiting, const MakeLibrary& makeLibrary);

/// Told the number of ranks before they start.
using MakeForAll = std::function<MakeLibrary(int ranks)>;

/// The main function of a race between threads of this process.
/// @return the exit status.
int raceThreads(int argc, char** argv, const MakeForAll& makeForAll);

}  // namespace rondo::race
