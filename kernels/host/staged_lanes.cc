#include "kernels/host/staged_lanes.h"

#include <utility>

namespace rondo::host {

StagedLanes::StagedLanes(TwoLevel operation, Lanes lanes, std::size_t elemBytes)
    : operation_(std::move(operation)),
      lanes_(std::move(lanes)),
      scratch_(operation_.scratchElems() * elemBytes) {}

void StagedLanes::restart() {
  done_ = {};
  running_ = {};
}

Turn StagedLanes::takeTurn(const Work& work) {
  Turn turn;
  for (int stage = 0; stage < operation_.stages(); ++stage) {
    const StepResult result = tryStage(stage, work);
    turn.moved |= result == StepResult::kRan;
    turn.finished &= result == StepResult::kFinished;
    if (result == StepResult::kMismatch && !turn.mismatched.has_value()) {
      turn.mismatched = runningLane(stage)->blockedOn(work);
    }
  }
  return turn;
}

StepResult StagedLanes::tryStage(int stage, const Work& work) {
  const auto at = static_cast<std::size_t>(stage);
  if (done_[at] == operation_.runs(stage)) return StepResult::kFinished;
  if (!running_[at] && !tryStart(stage)) return StepResult::kNotReady;
  const StepResult result = lanes_[at]->tryStep(work);
  if (result != StepResult::kFinished) return result;
  ++done_[at];
  running_[at] = false;
  return StepResult::kRan;  // others may go on
}

bool StagedLanes::tryStart(int stage) {
  const auto at = static_cast<std::size_t>(stage);
  if (!operation_.mayStart(stage, done_[at], done_)) return false;
  const StageRun run = operation_.run(stage, done_[at]);
  lanes_[at]->startStage(AnySchedule(run.algorithm, run.args), run.place, scratch_.data());
  running_[at] = true;
  return true;
}

Blocked StagedLanes::firstBlocked(const Work& work) {
  for (int stage = 0; stage < operation_.stages(); ++stage) {
    Lane* const lane = runningLane(stage);
    Blocked blocked = lane == nullptr ? Blocked{} : lane->blockedOn(work);
    blocked.stage = stage;
    if (blocked.peer >= 0) return blocked;
  }
  return {};
}

bool StagedLanes::blockedOn(int peer, const Work& work) {
  for (int stage = 0; stage < operation_.stages(); ++stage) {
    Lane* const lane = runningLane(stage);
    if (lane != nullptr && lane->blockedOn(work).peer == peer) return true;
  }
  return false;
}

}  // namespace rondo::host
