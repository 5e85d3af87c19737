// How a compressed call is carried out: src/planner.h for calls whose elements are blocks, for
// which there is one algorithm each.
#pragma once

#include <cstddef>

#include "src/planner.h"
#include "src/status.h"

namespace rondo {

/// The plan of a compressed call, whose `chunkElems` and `grain` are in blocks. Pure, as
/// makePlan().
/// @param request has a codec
/// @param blocks  what the schedule shares out: of the whole, or of each rank's part
/// @param uniform the ranks' parts have equally many
/// @errors NotSupported: a collective that cannot be compressed; a block that no slot holds
Result<Plan> makeCodedPlan(const PlanRequest& request,
                           std::size_t blocks,
                           bool uniform,
                           const PlanFacts& facts,
                           const PlanSettings& settings);

}  // namespace rondo
