// How long one call takes, by two clocks: alone, and in a row.
#pragma once

#include <cstddef>
#include <optional>

#include "perf/race/harness/library.h"
#include "perf/race/harness/meeting.h"
#include "perf/race/harness/work.h"

namespace rondo::race {

/// Calls that begin on all ranks at the same time. The time of a call is that of its slowest rank.
/// In seconds.
struct SingleCalls {
  std::size_t calls = 0;
  double median = 0;
  double least = 0;
  double ninthDecile = 0;
  /// Calls during which the scheduler took no rank's processor, and their median (that of all, if
  /// fewer than three are left): what to look at on a machine that does other things, too.
  std::size_t undisturbedCalls = 0;
  double undisturbedMedian = 0;
};

/// Calls one right after the other, with nothing between. In seconds per call, of the slowest rank.
struct CallsInARow {
  double median = 0;  ///< of several batches
  double least = 0;
};

struct Times {
  /// None with more ranks than processors: ranks cannot begin together there.
  std::optional<SingleCalls> single;
  CallsInARow inARow;
};

/// Measures calls of `work`, after a warm-up. All ranks call it.
/// @param budgetSeconds how long each kind of timing goes on, about; at least 5 calls are made.
Times timeCalls(Meeting& meeting, Library& library, const Work& work, double budgetSeconds);

}  // namespace rondo::race
