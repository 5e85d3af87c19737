// The axes along which collective calls are tested, and the call that a choice on each makes. The
// algorithms come from the registry: a new one is in the tests without a line here.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/collective/communicators.h"
#include "tests/collective/covering_array.h"
#include "tests/collective/prepared_call.h"

namespace rondo::testing {

enum CallAxis : std::size_t {
  kAlgorithm,  ///< a row of the registry; fixes the collective
  kType,
  kOp,
  kRanks,
  kRoot,
  kReproducible,
  kSize,
  kPlacement,  ///< in place or not
  kShift,      ///< how send and recv are aligned
  kChunk,
  kSlots,
  kChannels,
  kInputs,
  kCallAxes
};

/// Axes, rules (what src/planner.h and the C API refuse) and, besides pairs, the threes that have
/// gone wrong elsewhere.
const CoveringModel& callModel();

/// The settings of the communicators that `row` needs. Rows that differ in the call only share
/// them.
CommunicatorSettings settingsOf(const Row& row);

/// The call that `row` stands for on those communicators.
CallSpec callOf(const Row& row, const Communicators& communicators, std::uint64_t seed);

}  // namespace rondo::testing
