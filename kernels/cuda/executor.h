// Runs lanes in a kernel: one block per lane, one step at a time. The device's twin of
// kernels/host/lane.cc; what a step does to elements is kernels/cuda/combine.h.
//
// The threads of a block share the waiting of a step: each looks after its own entries of the
// schedule's tables, which no other thread touches, and the step runs when all have what they wait
// for. That is the progress rule of kernels/step_ready.h: a slot that is there stays there. In
// lines, wide or not, a step waits for free slots only before it begins, and for each line when it
// reads it; a step that has begun holds nothing that another lane could use, so that it waits for
// the same peers either way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/combine.h"
#include "kernels/cuda/lane_entries.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/schedule_switch.h"

namespace rondo::device {

/// A block's shared memory.
struct BlockState {
  Place recv[kMaxStepPeers];  ///< the slots of the step that runs
  Place send[kMaxStepPeers];
};

/// One lane being run by a block.
/// @tparam Combiner  `Combiner::run(op, protocol, row, wait)` folds one row of the operation's
/// type,
///   `Combiner::move(protocol, row, wait)` moves one
template <class Combiner>
class LaneRunner {
 public:
  RONDO_DEVICE LaneRunner(const LaunchArgs& args, const RankWork& work, const Lane& lane)
      : args_(args),
        work_(work),
        lane_(lane),
        block_(*reinterpret_cast<BlockState*>(sharedMemory())),
        wait_(work, *lane.report) {}

  /// All threads of the block: all steps of the lane's schedule. Says in the report if it failed.
  RONDO_DEVICE_OUTLINE void run() {
    visitSchedule(lane_.algorithm, lane_.schedule,
                  [this](const auto& schedule) { walk(schedule); });
  }

 private:
  template <class S>
  RONDO_DEVICE void walk(const S& schedule) {
    const std::size_t size = schedule.size();
    for (std::size_t index = 0; index < size && !failed_; ++index)
      runStep(schedule.step(index));
  }

  RONDO_DEVICE_OUTLINE void runStep(const Step& step) {
    for (int i = firstOf(step.recv); i < step.recv.count; i += threads())
      take(step, i);
    for (int i = firstOf(step.send); i < step.send.count; i += threads())
      claim(step, i);
    if (giveUp(step)) return;
    if (step.elems > 0) {
      for (std::size_t row = 0; row < step.rows.count; ++row)
        runRow(step, row);
    }
    if (inLines() && giveUp(step)) return;
    syncBlock();
    passSlots(step);
  }

  // Slots.

  /// Whether data carry marks of their own.
  RONDO_DEVICE bool inLines() const { return args_.protocol != Protocol::kStaged; }

  /// Whether lines take over a slot where data of wide lines may look like their marks.
  RONDO_DEVICE bool follows(const End& end) const {
    return args_.protocol == Protocol::kLines && end.holdsWideLines();
  }

  /// Whether a slot is there when its counter says so.
  RONDO_DEVICE bool counted(const End& end) const { return !inLines() || follows(end); }

  /// Waits for a full slot of the step's i-th source.
  RONDO_DEVICE void take(const Step& step, int i) {
    const End& end = *lane_.recv[step.recv.first + i];
    if (counted(end)) {
      wait_.waitFor(end.peer, true);
      if (!awaitCounter(*end.tail, end.position + 1, wait_)) return;
    }
    if (!inLines() && !fits(step, end.entries[end.slotIndex()])) {
      mismatch_ = true;
      return;
    }
    block_.recv[i] = slotOf(end, formOf(step.recvWire));
  }

  /// Waits for a free slot of the step's i-th receiver.
  RONDO_DEVICE void claim(const Step& step, int i) {
    const End& end = *lane_.send[step.send.first + i];
    wait_.waitFor(end.peer, false);
    if (end.position >= end.slotCount &&
        !awaitCounter(*end.head, end.position - end.slotCount + 1, wait_)) {
      return;
    }
    block_.send[i] = slotOf(end, formOf(step.sendWire));
    // Whatever this operation does with the slot: the next one in lines may come much later.
    if (rewritesSlot(end.position, end.slotCount) || follows(end)) rewrite(end);
  }

  RONDO_DEVICE Place slotOf(const End& end, Form form) const {
    if (!inLines()) return {end.slots + end.slotIndex() * end.slotBytes, end.peer, 0, form};
    Pack* first = end.lines + end.slotIndex() * End::linesPerSlot(end.slotBytes);
    return {reinterpret_cast<std::byte*>(first), end.peer, lineMark(end.position), form};
  }

  static RONDO_DEVICE Form formOf(Wire wire) {
    return wire == Wire::kAccumulator ? Form::kAccumulator : Form::kNative;
  }

  /// Gives every line of the slot a mark that is not this filling's, nor an old one. By one thread:
  /// it takes long, and is rare.
  RONDO_DEVICE_OUTLINE void rewrite(const End& end) {
    const std::size_t count = End::linesPerSlot(end.slotBytes);
    Pack* first = end.lines + end.slotIndex() * count;
    for (std::size_t i = 0; i < count; ++i)
      placeLine(first[i], 0, 0);
  }

  /// Whether a full slot holds what `step` is to receive.
  RONDO_DEVICE bool fits(const Step& step, const SlotEntry& entry) const {
    const std::size_t bytes = step.slotElems() * args_.arithmetic.wireBytes(step.recvWire);
    return entry.call == work_.call && entry.bytes == bytes;
  }

  /// Hands the filled slots over, and gives the others back. Lines are there when they are there.
  RONDO_DEVICE void passSlots(const Step& step) {
    const std::size_t bytes = step.slotElems() * args_.arithmetic.wireBytes(step.sendWire);
    for (int i = firstOf(step.send); i < step.send.count; i += threads()) {
      End& end = *lane_.send[step.send.first + i];
      const bool counts = counted(end);
      if (!inLines()) end.entries[end.slotIndex()] = {bytes, work_.call};
      end.pass(args_.protocol);
      if (counts) postCounter(*end.tail, end.position);
    }
    for (int i = firstOf(step.recv); i < step.recv.count; i += threads()) {
      End& end = *lane_.recv[step.recv.first + i];
      end.pass(args_.protocol);
      inLines() ? creditLines(*end.head, end.position) : postCounter(*end.head, end.position);
    }
  }

  // Elements.

  RONDO_DEVICE void runRow(const Step& step, std::size_t row) {
    const StepArithmetic& arithmetic = args_.arithmetic;
    RowWork work;
    work.recv = block_.recv;
    work.send = block_.send;
    work.recvCount = step.recv.count;
    work.sendCount = step.send.count;
    work.recvBytes = row * rowBytes(step, step.recvWire);
    work.sendBytes = row * rowBytes(step, step.sendWire);
    work.elems = step.elems;
    work.divisor = step.last ? arithmetic.divisor : 0;
    work.scale = work_.scale;
    if (step.own != Source::kNone) {
      work.ownPosition = step.ownPosition < step.recv.count ? step.ownPosition : step.recv.count;
      work.own = ownPlace(step, row);
    }
    if (step.to != Sink::kNone) {
      work.sinks = true;
      work.sink = sinkPlace(step, row);
    }
    if (work.targets() == 0) return;
    if (arithmetic.onlyMoves(step)) {
      Combiner::move(args_.protocol, work, wait_);
    } else {
      Combiner::run(args_.op, args_.protocol, work, wait_);
    }
  }

  RONDO_DEVICE std::size_t rowBytes(const Step& step, Wire wire) const {
    return rowStride(args_.protocol, step.elems, args_.arithmetic.elemBytes,
                     args_.arithmetic.wireBytes(wire));
  }

  RONDO_DEVICE Place ownPlace(const Step& step, std::size_t row) const {
    const std::size_t elemBytes = args_.arithmetic.elemBytes;
    Place place;
    if (step.own == Source::kInput) {
      // Own input is only read; a place leads to targets, too, hence the cast.
      place.data =
          const_cast<std::byte*>(work_.input) + step.userRow(step.inputOffset, row) * elemBytes;
      if (args_.arithmetic.scales) place.form = Form::kScaled;
    } else if (step.own == Source::kOutput) {
      place.data = work_.output + step.userRow(step.outputOffset, row) * elemBytes;
    } else {
      place.data = lane_.scratch + step.scratchRow(row) * elemBytes;
    }
    return place;
  }

  RONDO_DEVICE Place sinkPlace(const Step& step, std::size_t row) const {
    const std::size_t elemBytes = args_.arithmetic.elemBytes;
    Place place;
    place.data = step.to == Sink::kOutput
                     ? work_.output + step.userRow(step.outputOffset, row) * elemBytes
                     : lane_.scratch + step.scratchRow(row) * elemBytes;
    return place;
  }

  /// All threads of the block.
  RONDO_DEVICE bool giveUp(const Step& step) {
    failed_ = anyGaveUp(lane_, step.recv, mismatch_, wait_.givenUp(),
                        [&](const SlotEntry& entry) { return fits(step, entry); });
    return failed_;
  }

  const LaunchArgs& args_;
  const RankWork& work_;
  const Lane& lane_;
  BlockState& block_;
  Wait wait_;
  bool mismatch_ = false;  ///< found by this thread
  bool failed_ = false;    ///< the same on all threads of the block
};

/// The body of every entry kernel: this block's lane of the launch.
template <class Combiner>
RONDO_DEVICE void runBlock(const LaunchArgs& args) {
  const int block = static_cast<int>(blockIndex());
  const RankWork& work = args.ranks[block / args.channels];
  LaneRunner<Combiner>(args, work, work.lanes[block % args.channels]).run();
}

}  // namespace rondo::device
