// Proves operations of two levels as verifier.h proves single schedules: the stages of all ranks
// run together on symbolic memory, each as soon as it may, in many orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/two_level/two_level.h"
#include "tests/schedule/failure.h"
#include "tests/schedule/verifier.h"

namespace rondo::verifier {

/// What is run.
struct TwoLevelCall {
  Collective collective = Collective::kAllReduce;
  std::vector<int> hosts;  ///< by rank
  std::size_t count = 0;
  TwoLevelGeometry geometry;
  bool inPlace = false;

  std::string text() const;
};

/// How, and what is done wrong.
struct TwoLevelSetup {
  std::size_t slots = 2;    ///< per connection
  std::uint64_t order = 0;  ///< 0: in turn; else the seed of a random order
  // Mutants. Unused ones are empty.
  std::function<void(const TwoLevel&, int stage, StageRun&)> editRun{};
  std::function<bool(const TwoLevel&, int stage, std::size_t run, bool right)> mayStart{};
  std::function<void(int stage, std::vector<int>& members)> editMembers{};
  bool oneChannel = false;  ///< all stages share connections
};

/// Runs the call on all ranks.
Report verifyTwoLevel(const TwoLevelCall& call, const TwoLevelSetup& setup);

}  // namespace rondo::verifier
