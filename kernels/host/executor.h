// Runs the lanes of one operation in the calling thread, a step at a time, until all are done.
#pragma once

#include <span>

#include "kernels/host/coded_lane.h"
#include "kernels/host/lane.h"
#include "kernels/host/mailbox_call.h"
#include "kernels/host/staged_lanes.h"
#include "kernels/host/waiter.h"

namespace rondo::host {

enum class RunResult : std::uint8_t {
  kDone,
  kStalled,   ///< the waiter says it is time to check the peers; call again to go on
  kAborted,   ///< the abort flag was raised
  kMismatch,  ///< a peer's slot belongs to another call
};

struct RunOutcome {
  RunResult result = RunResult::kDone;
  Blocked blocked;  ///< of the first lane that could not go on; after kStalled and kMismatch
  /// After kStalled: all steps are done, but what they posted has not left this rank yet.
  bool flushing = false;
};

/// Never blocks. Whoever calls it sees to the floating-point mode, and to what is posted.
Turn takeTurn(std::span<Lane> lanes, const Work& work);
Turn takeTurn(std::span<CodedLane> lanes, const Work& work);

/// Of the first lane that cannot go on.
Blocked firstBlocked(std::span<Lane> lanes, const Work& work);
Blocked firstBlocked(std::span<CodedLane> lanes, const Work& work);

/// Interleaves the lanes, which must not share connections, and moves what they post until all of
/// it has left this rank. All lanes keep their place when the run ends early, so a stalled run is
/// continued by calling again.
/// @threads the thread that owns the lanes' connection ends
/// @order   results are in the caller's memory on kDone; undefined else
RunOutcome runLanes(std::span<Lane> lanes, const Work& work, Waiter& waiter);
RunOutcome runLanes(std::span<CodedLane> lanes, const Work& work, Waiter& waiter);

/// The same for the stages of an operation.
RunOutcome runStages(StagedLanes& stages, const Work& work, Waiter& waiter);

/// The same for an operation that goes through mailboxes.
RunOutcome runMailboxCall(MailboxCall& call, const Work& work, Waiter& waiter);

}  // namespace rondo::host
