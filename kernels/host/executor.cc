#include "kernels/host/executor.h"

#include "kernels/host/float_environment.h"

namespace rondo::host {

namespace {

template <class AnyLane>
Turn turnOf(std::span<AnyLane> lanes, const Work& work) {
  Turn turn;
  for (AnyLane& lane : lanes) {
    const StepResult result = lane.tryStep(work);
    turn.moved |= result == StepResult::kRan;
    turn.finished &= result == StepResult::kFinished;
    if (result == StepResult::kMismatch && !turn.mismatched.has_value())
      turn.mismatched = lane.blockedOn(work);
  }
  return turn;
}

template <class AnyLane>
Blocked firstBlockedOf(std::span<AnyLane> lanes, const Work& work) {
  for (AnyLane& lane : lanes) {
    const Blocked blocked = lane.blockedOn(work);
    if (blocked.peer >= 0) return blocked;
  }
  return {};
}

}  // namespace

Turn takeTurn(std::span<Lane> lanes, const Work& work) {
  return turnOf(lanes, work);
}

Turn takeTurn(std::span<CodedLane> lanes, const Work& work) {
  return turnOf(lanes, work);
}

Blocked firstBlocked(std::span<Lane> lanes, const Work& work) {
  return firstBlockedOf(lanes, work);
}

Blocked firstBlocked(std::span<CodedLane> lanes, const Work& work) {
  return firstBlockedOf(lanes, work);
}

namespace {

/// @param takeTurn     of whatever is run
/// @param firstBlocked likewise
template <class TakeTurn, class FirstBlocked>
RunOutcome takeTurns(Waiter& waiter, const TakeTurn& takeTurn, const FirstBlocked& firstBlocked) {
  for (;;) {
    const Turn turn = takeTurn();
    const bool passedOn = waiter.place().progress();
    if (turn.finished && waiter.place().flushed()) return {};
    if (turn.mismatched.has_value()) return {RunResult::kMismatch, *turn.mismatched};
    if (turn.moved || passedOn) {
      waiter.progressed();
      continue;
    }
    const WaitResult waited = waiter.pause();
    if (waited == WaitResult::kAborted) return {RunResult::kAborted, {}};
    if (waited == WaitResult::kCheckPeers) {
      return {RunResult::kStalled, firstBlocked(), turn.finished};
    }
  }
}

RunOutcome waitForBoxes(MailboxCall& call, const Work& work, Waiter& waiter) {
  while (call.tryStep(work) != StepResult::kFinished) {
    // Messages to the same ranks may go over wires where memory for slots has run out.
    waiter.place().progress();
    const WaitResult waited = waiter.pause();
    if (waited == WaitResult::kAborted) return {RunResult::kAborted, {}};
    if (waited == WaitResult::kCheckPeers) return {RunResult::kStalled, call.blockedOn(work)};
  }
  return {};
}

}  // namespace

RunOutcome runMailboxCall(MailboxCall& call, const Work& work, Waiter& waiter) {
  if (work.arithmetic.combine == nullptr) return waitForBoxes(call, work, waiter);
  const FloatEnvironment environment;
  return waitForBoxes(call, work, waiter);
}

RunOutcome runLanes(std::span<Lane> lanes, const Work& work, Waiter& waiter) {
  const auto run = [&] {
    return takeTurns(
        waiter, [&] { return takeTurn(lanes, work); }, [&] { return firstBlocked(lanes, work); });
  };
  if (work.arithmetic.combine == nullptr) return run();
  const FloatEnvironment environment;
  return run();
}

RunOutcome runLanes(std::span<CodedLane> lanes, const Work& work, Waiter& waiter) {
  const FloatEnvironment environment;
  return takeTurns(
      waiter, [&] { return takeTurn(lanes, work); }, [&] { return firstBlocked(lanes, work); });
}

RunOutcome runStages(StagedLanes& stages, const Work& work, Waiter& waiter) {
  const auto run = [&] {
    return takeTurns(
        waiter, [&] { return stages.takeTurn(work); }, [&] { return stages.firstBlocked(work); });
  };
  if (work.arithmetic.combine == nullptr) return run();
  const FloatEnvironment environment;
  return run();
}

}  // namespace rondo::host
