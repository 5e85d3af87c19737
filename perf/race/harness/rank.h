// A rank's part in the race, from its first buffer to the last line of results.
#pragma once

#include "perf/race/harness/library.h"
#include "perf/race/harness/meeting.h"
#include "perf/race/harness/options.h"

namespace rondo::race {

/// Measures and checks every cell that the library supports. Rank 0 prints a line of JSON for each
/// to standard output; ../README.md lists its fields.
/// @return the exit status of the process: 0, or 1 if any result was wrong.
int raceRank(Meeting& meeting, Library& library, const Options& options);

}  // namespace rondo::race
