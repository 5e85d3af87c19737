// What executors of schedules have in common: which entries of a schedule's tables a thread looks
// after, and how a lane ends that cannot go on.
#pragma once

#include "collectives/step.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace rondo::device {

/// Threads of the block, to count entries by.
RONDO_DEVICE int threads() {
  return static_cast<int>(blockThreads());
}

/// The first entry of a range that is this thread's: entry e of a table is always that of thread
/// e mod threads.
RONDO_DEVICE int firstOf(const PeerRange& range) {
  const int behind = (static_cast<int>(threadIndex()) - range.first) % threads();
  return behind < 0 ? behind + threads() : behind;
}

/// Says in the lane's report which of the peers is the first whose slot does not fit.
/// @param fits whether the entry of a full slot is what was expected
template <class Fits>
RONDO_DEVICE void nameMismatch(const Lane& lane, const PeerRange& recv, const Fits& fits) {
  for (int i = 0; i < recv.count; ++i) {
    const End& end = *lane.recv[recv.first + i];
    if (observeCounter(*end.tail) <= end.position) continue;  // not there yet
    const SlotEntry& entry = end.entries[end.slotIndex()];
    if (fits(entry)) continue;
    lane.report->peer = end.peer;
    lane.report->otherCall = entry.call;
    return;
  }
}

/// All threads of the block: whether any of them gave up, which one of them then reports.
/// @param mismatch, givenUp of the calling thread
/// @param fits     as for nameMismatch()
template <class Fits>
RONDO_DEVICE bool anyGaveUp(
    const Lane& lane, const PeerRange& recv, bool mismatch, bool givenUp, const Fits& fits) {
  if (!syncBlockAny(mismatch || givenUp)) return false;
  const bool anyMismatch = syncBlockAny(mismatch);
  if (threadIndex() != 0) return true;
  if (anyMismatch) nameMismatch(lane, recv, fits);
  postCounter(lane.report->state, anyMismatch ? Report::kMismatch : Report::kAborted);
  return true;
}

}  // namespace rondo::device
