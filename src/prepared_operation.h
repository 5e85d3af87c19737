// A planned operation with everything it needs to run again and again: its lanes are bound to
// connections, its arithmetic is chosen. Made on a call's first occurrence, then found in a cache,
// so that a repeated call allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/host/lane.h"
#include "src/connection_ends.h"
#include "src/planner.h"

namespace rondo {

struct PreparedOperation {
  PlanRequest request;
  Plan plan;
  host::Arithmetic arithmetic;  ///< all but the scale, which belongs to the call
  std::vector<host::Lane> lanes;
};

/// Plans `request` for `rank` and binds it to connections.
/// @errors NotSupported (nothing was changed), OutOfMemory
Result<PreparedOperation> prepareOperation(const PlanRequest& request,
                                           const PlanFacts& facts,
                                           const PlanSettings& settings,
                                           int rank,
                                           ConnectionEnds& ends);

/// The operations prepared last. A full place is given to the newcomer. @threads one at a time.
class PreparedCache {
 public:
  /// Null if there is none.
  PreparedOperation* find(const PlanRequest& request);

  /// Keeps `operation`; valid until another operation takes its place.
  PreparedOperation* keep(PreparedOperation operation);

 private:
  /// Places: a training step makes the same few dozen calls over and over.
  static constexpr std::size_t kPlaces = 256;

  static std::size_t placeOf(const PlanRequest& request);

  std::array<std::unique_ptr<PreparedOperation>, kPlaces> places_;
};

}  // namespace rondo
