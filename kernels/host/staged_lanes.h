// An operation of two levels being run on host memory: a lane for each stage, which goes from run
// to run, and the scratch that the stages share.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "collectives/two_level/two_level.h"
#include "kernels/host/lane.h"

namespace rondo::host {

/// One step of each lane that was ready.
struct Turn {
  bool moved = false;
  bool finished = true;
  std::optional<Blocked> mismatched;  ///< a slot belongs to another call
};

/// @threads one at a time.
class StagedLanes {
 public:
  /// By stage; none where this rank has no part.
  using Lanes = std::array<std::optional<Lane>, TwoLevel::kMostStages>;

  /// @param lanes bound to the connections of each stage's members, on its channel
  StagedLanes(TwoLevel operation, Lanes lanes, std::size_t elemBytes);

  /// Goes back to the start, for the next operation with the same plan.
  void restart();

  /// As takeTurn() of lanes: does what is ready, allocates nothing, never blocks.
  Turn takeTurn(const Work& work);

  /// Of the first stage that cannot go on because of a peer.
  Blocked firstBlocked(const Work& work);

  /// Whether some stage cannot go on without `peer`.
  bool blockedOn(int peer, const Work& work);

 private:
  /// Has the lane of `stage` run a step, if there is one to be run.
  StepResult tryStage(int stage, const Work& work);
  bool tryStart(int stage);

  /// Whose lane is in the middle of a run; null if there is none.
  Lane* runningLane(int stage) {
    const auto at = static_cast<std::size_t>(stage);
    return running_[at] ? &*lanes_[at] : nullptr;
  }

  TwoLevel operation_;
  Lanes lanes_;
  std::vector<std::byte> scratch_;
  std::array<std::size_t, TwoLevel::kMostStages> done_{};  // runs that are complete
  std::array<bool, TwoLevel::kMostStages> running_{};
};

}  // namespace rondo::host
