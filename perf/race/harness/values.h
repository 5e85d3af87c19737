// What buffers hold and what results must be. Inputs are small integers whose sums every type holds
// exactly, so a result is right or wrong to the bit, in whatever order a library adds; but for
// libraries that say that they round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "perf/race/harness/work.h"

namespace rondo::race {

/// Writes the rank's input, and NaN wherever a result is to come.
/// @param salt another salt, other values: what an earlier call left behind is not right by chance.
void fillBuffers(const Work& work, int salt);

/// How many elements of the rank's result are not what they must be, after fillBuffers() with the
/// same salt on all ranks and one call.
/// @param tolerance how far a float may be off
std::uint64_t wrongElements(const Work& work,
                            const std::byte* result,
                            int salt,
                            float tolerance = 0);

/// The largest magnitude of a rank's input.
inline constexpr int kHighestInput = 6;

}  // namespace rondo::race
