// Proves schedules: runs the schedules of all ranks together, with the progress rule that executors
// use (kernels/step_ready.h) and with symbolic elements in place of data, and checks every access,
// every slot, every result, the promised order of additions and the cost formulas.
//
// A schedule never looks at data or time, so it blocks or not whatever the order in which ranks run
// is; other orders are run all the same, to test that claim. Parts: step_executor.h runs one step,
// peer_tables.h compares tables, expected_results.h says what must come out, failure.h lists what
// is looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "tests/schedule/any_schedule.h"
#include "tests/schedule/call.h"
#include "tests/schedule/failure.h"

namespace rondo::verifier {

/// What an executor may get wrong; for tests of the verifier itself.
enum class ExecutorFault : std::uint8_t {
  kNone,
  kNeverRelease,        ///< received slots are never given back
  kReleaseBeforeRead,   ///< received slots are given back before they were read
  kPostBeforeWrite,     ///< sent slots become visible before they were written
  kIgnoreFullSlots,     ///< does not wait for slots to receive
  kIgnoreFreeSlots,     ///< does not wait for slots to send in
  kOwnFirst,            ///< folds the own contribution first, whatever ownPosition says
  kRoundSums,           ///< rounds sums that travel in the accumulator's type
  kTakeInputForStable,  ///< leaves input where it is whatever will be stored over it
  kReturnBeforeRead,    ///< ends a call while its payloads may still be read
};

/// Makes the schedule of one rank in one call.
using ScheduleMaker = std::function<std::unique_ptr<AnySchedule>(AlgorithmId, const ScheduleArgs&)>;

/// The communicator of a run.
struct Setup {
  int ranks = 1;            ///< <= kMaxRanks
  std::size_t slots = 2;    ///< per connection
  std::uint64_t order = 0;  ///< 0: ranks run in turn; otherwise the seed of a random order
  /// Payloads are left in the buffers where kernels/lasting_payload.h says that they may.
  bool leavesPayloads = false;
  /// A rank that runs only when no other one can; -1: none. If something could change what this
  /// rank is going to read, it does so now.
  int laziest = -1;
  ExecutorFault fault = ExecutorFault::kNone;
  ScheduleMaker make = makeSchedule;
};

struct Report {
  std::optional<Violation> violation;  ///< empty if nothing is wrong
  std::size_t steps = 0;               ///< run, all ranks together
  std::size_t outputs = 0;             ///< output elements checked

  bool ok() const { return !violation.has_value(); }

  /// For assertions: the violation, or "ok".
  std::string text() const { return violation ? violation->text() : "ok"; }
};

/// Runs `calls` one after another on all ranks, without a barrier between them, over connections
/// that persist.
Report verify(const Setup& setup, std::span<const Call> calls);

}  // namespace rondo::verifier
