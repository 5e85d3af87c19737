#include "kernels/host/lane.h"

#include <utility>

#include "kernels/step_ready.h"

namespace rondo::host {

namespace {

Form formOf(Wire wire) {
  return wire == Wire::kAccumulator ? Form::kAccumulator : Form::kNative;
}

}  // namespace

Lane::Lane(const AnySchedule& schedule,
           std::vector<SendEnd*> send,
           std::vector<RecvEnd*> recv,
           std::size_t scratchBytes)
    : schedule_(schedule),
      size_(schedule.size()),
      send_(std::move(send)),
      recv_(std::move(recv)),
      scratch_(scratchBytes) {
  operands_.reserve(recv_.size() + 1);
  targets_.reserve(send_.size() + 1);
  copies_.reserve(send_.size() + 1);
}

StepResult Lane::tryStep(const Work& work) {
  if (next_ == size_) return StepResult::kFinished;
  const Step step = schedule_.step(next_);
  if (!stepReady(step, ends())) return StepResult::kNotReady;
  if (!slotsMatch(step, work)) return StepResult::kMismatch;
  if (step.elems > 0) {
    for (std::size_t row = 0; row < step.rows.count; ++row)
      runRow(step, row, work);
  }
  passSlots(step, work);
  ++next_;
  return StepResult::kRan;
}

bool Lane::slotMatches(const Step& step, int index, const Work& work) {
  const SlotEntry& entry = recvEnd(step, index).entry();
  return entry.call == work.call &&
         entry.bytes == step.slotElems() * work.arithmetic.rules.wireBytes(step.recvWire);
}

bool Lane::slotsMatch(const Step& step, const Work& work) {
  for (int i = 0; i < step.recv.count; ++i) {
    if (!slotMatches(step, i, work)) return false;
  }
  return true;
}

void Lane::runRow(const Step& step, std::size_t row, const Work& work) {
  gatherOperands(step, row, work);
  gatherTargets(step, row, work);
  if (targets_.empty()) return;
  const Arithmetic& arithmetic = work.arithmetic;
  if (arithmetic.rules.onlyMoves(step)) {
    copies_.clear();
    for (const Target& target : targets_)
      copies_.push_back(target.data);
    copyToAll(operands_.front().data, copies_, step.elems * arithmetic.rules.elemBytes);
    return;
  }
  CombineArgs args;
  args.sources = operands_;
  args.targets = targets_;
  args.elems = step.elems;
  args.divisor = step.last ? arithmetic.rules.divisor : 0;
  args.scale = arithmetic.scale;
  arithmetic.combine(args);
}

void Lane::gatherOperands(const Step& step, std::size_t row, const Work& work) {
  const std::size_t rowBytes = step.elems * work.arithmetic.rules.wireBytes(step.recvWire);
  operands_.clear();
  for (int i = 0; i < step.recv.count; ++i) {
    if (i == step.ownPosition && step.own != Source::kNone) {
      operands_.push_back(ownOperand(step, row, work));
    }
    operands_.push_back({recvEnd(step, i).slot() + row * rowBytes, formOf(step.recvWire)});
  }
  if (step.ownPosition >= step.recv.count && step.own != Source::kNone) {
    operands_.push_back(ownOperand(step, row, work));
  }
}

Operand Lane::ownOperand(const Step& step, std::size_t row, const Work& work) const {
  const std::size_t elemBytes = work.arithmetic.rules.elemBytes;
  switch (step.own) {
    case Source::kInput:
      return {work.buffers.input + step.userRow(step.inputOffset, row) * elemBytes,
              work.arithmetic.scale != nullptr ? Form::kScaled : Form::kNative};
    case Source::kOutput:
      return {work.buffers.output + step.userRow(step.outputOffset, row) * elemBytes,
              Form::kNative};
    case Source::kScratch:
      return {scratch_.data() + step.scratchRow(row) * elemBytes, Form::kNative};
    case Source::kNone:
      break;
  }
  return {};
}

void Lane::gatherTargets(const Step& step, std::size_t row, const Work& work) {
  const std::size_t elemBytes = work.arithmetic.rules.elemBytes;
  const std::size_t rowBytes = step.elems * work.arithmetic.rules.wireBytes(step.sendWire);
  targets_.clear();
  for (int i = 0; i < step.send.count; ++i) {
    targets_.push_back({sendEnd(step, i).slot() + row * rowBytes, formOf(step.sendWire)});
  }
  if (step.to == Sink::kOutput) {
    targets_.push_back(
        {work.buffers.output + step.userRow(step.outputOffset, row) * elemBytes, Form::kNative});
  } else if (step.to == Sink::kScratch) {
    targets_.push_back({scratch_.data() + step.scratchRow(row) * elemBytes, Form::kNative});
  }
}

void Lane::passSlots(const Step& step, const Work& work) {
  const SlotEntry entry{step.slotElems() * work.arithmetic.rules.wireBytes(step.sendWire),
                        work.call};
  for (int i = 0; i < step.send.count; ++i)
    sendEnd(step, i).post(entry);
  for (int i = 0; i < step.recv.count; ++i)
    recvEnd(step, i).release();
}

Blocked Lane::blockedOn(const Work& work) {
  if (next_ == size_) return {};
  const Step step = schedule_.step(next_);
  for (int i = 0; i < step.recv.count; ++i) {
    RecvEnd& end = recvEnd(step, i);
    if (!end.slotFull()) return {end.peer(), true};
    if (!slotMatches(step, i, work)) return {end.peer(), true, end.entry().call};
  }
  for (int i = 0; i < step.send.count; ++i) {
    if (!sendEnd(step, i).slotFree()) return {sendEnd(step, i).peer(), false};
  }
  return {};
}

}  // namespace rondo::host
