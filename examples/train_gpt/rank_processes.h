// Ranks of this machine: threads, or processes that are watched.
#pragma once

#include <functional>

#include "rondo/rondo.hpp"

namespace rondo::train {

/// What a rank does; returns its exit code.
using RankBody = std::function<int(const Communicator&)>;

/// Whether a launcher has started this process as one of several ranks.
bool startedByLauncher();

/// Runs `body` for each rank in a thread of its own.
/// @return the first exit code that is not 0
int runThreads(int ranks, const RankBody& body);

/// Runs `body` for each rank in a process of its own; tells of those that are killed. Call it
/// before the process has threads.
/// @return the first exit code that is not 0
int runProcesses(int ranks, const RankBody& body);

/// Runs `body` as the rank that the launcher says.
int runLaunched(const RankBody& body);

}  // namespace rondo::train
