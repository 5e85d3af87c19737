#include "kernels/host/lane.h"

#include <algorithm>
#include <utility>

#include "kernels/host/streamed_copy.h"
#include "kernels/lasting_payload.h"
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
      ownScratch_(scratchBytes),
      piece_(kPieceBytes) {
  operands_.reserve(recv_.size() + 1);
  targets_.reserve(send_.size() + 2);
  copies_.reserve(send_.size() + 1);
  streamed_.reserve(send_.size() + 1);
  ways_.reserve(send_.size());
  places_.reserve(send_.size());
}

void Lane::startStage(const AnySchedule& schedule, const StepPlace& place, std::byte* scratch) {
  schedule_ = schedule;
  size_ = schedule.size();
  next_ = 0;
  place_ = place;
  sharedScratch_ = scratch;
}

StepResult Lane::tryStep(const Work& work) {
  if (next_ == size_)
    return unsettledEnd() == nullptr ? StepResult::kFinished : StepResult::kNotReady;
  const Step step = nextStep();
  if (!stepReady(step, ends())) return StepResult::kNotReady;
  if (!slotsMatch(step, work)) return StepResult::kMismatch;
  if (!beginReads(step)) return StepResult::kNotReady;
  chooseWays(step, work);
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
         entry.payloadBytes() == step.slotElems() * work.arithmetic.rules.wireBytes(step.recvWire);
}

bool Lane::slotsMatch(const Step& step, const Work& work) {
  for (int i = 0; i < step.recv.count; ++i) {
    if (!slotMatches(step, i, work)) return false;
  }
  return true;
}

/// All, or none: a sender that has withdrawn what it posted has failed, which ends this operation.
bool Lane::beginReads(const Step& step) {
  for (int i = 0; i < step.recv.count; ++i) {
    if (recvEnd(step, i).beginRead()) continue;
    for (int begun = 0; begun <= i; ++begun)
      recvEnd(step, begun).cancelRead();
    return false;
  }
  return true;
}

SendEnd* Lane::unsettledEnd() {
  if (settled_) return nullptr;
  const auto found = std::ranges::find_if(send_, [](SendEnd* end) { return !end->settled(); });
  settled_ = found == send_.end();
  return settled_ ? nullptr : *found;
}

/// Results pay later than input where a processor reads them: the next operation stores to lines
/// that another one has read. Measured with two-shot all-reduces: docs/performance.md.
constexpr std::size_t kOutputFactor = 16;

Lane::Lasting Lane::lastingPayload(const Step& step, const Work& work) {
  const StepArithmetic& rules = work.arithmetic.rules;
  switch (rondo::lastingPayload(step, rules, work.inputStays)) {
    case Source::kInput:
      return {work.buffers.input + step.inputOffset * rules.elemBytes, work.elsewhereBytes,
              work.adapterBytes};
    case Source::kOutput:
      return {work.buffers.output + step.outputOffset * rules.elemBytes,
              kOutputFactor * work.elsewhereBytes, work.adapterBytes};
    default:
      return {};
  }
}

void Lane::chooseWays(const Step& step, const Work& work) {
  const std::size_t bytes = step.slotElems() * work.arithmetic.rules.wireBytes(step.sendWire);
  const Lasting lasting = lastingPayload(step, work);
  ways_.clear();
  places_.clear();
  for (int i = 0; i < step.send.count; ++i) {
    SendEnd& end = sendEnd(step, i);
    const std::size_t fewest =
        end.adapterReads() ? lasting.fewestForAdapters : lasting.fewestForPeers;
    const bool mayStay = lasting.data != nullptr && fewest > 0 && bytes >= fewest;
    const auto place = mayStay ? end.nameOf(lasting.data, bytes) : std::nullopt;
    places_.push_back(place.value_or(SlotPlace{}));
    if (place.has_value()) {
      ways_.push_back(Way::kElsewhere);
      settled_ = false;
    } else {
      const bool streams = step.elems > 0 && end.wantsStreamedStores(bytes);
      ways_.push_back(streams ? Way::kStreamed : Way::kStored);
    }
  }
}

void Lane::runRow(const Step& step, std::size_t row, const Work& work) {
  gatherOperands(step, row, work);
  gatherTargets(step, row, work);
  if (targets_.empty() && streamed_.empty()) return;
  const StepArithmetic& rules = work.arithmetic.rules;
  if (rules.onlyMoves(step)) {
    copyRow(step.elems * rules.elemBytes);
  } else {
    foldRow(step, work);
  }
}

void Lane::copyRow(std::size_t bytes) {
  const auto* source = static_cast<const std::byte*>(operands_.front().data);
  const std::size_t pieceBytes = streamed_.empty() || targets_.empty() ? bytes : kPieceBytes;
  for (std::size_t first = 0; first < bytes; first += pieceBytes) {
    const std::size_t count = std::min(pieceBytes, bytes - first);
    copies_.clear();
    for (const Target& target : targets_)
      copies_.push_back(static_cast<std::byte*>(target.data) + first);
    copyToAll(source + first, copies_, count);
    for (std::byte* slot : streamed_)
      streamedCopy(slot + first, source + first, count);
  }
}

void Lane::foldRow(const Step& step, const Work& work) {
  const Arithmetic& arithmetic = work.arithmetic;
  const std::size_t wireBytes = arithmetic.rules.wireBytes(step.sendWire);
  const std::size_t pieceElems = streamed_.empty() ? step.elems : kPieceBytes / wireBytes;
  if (!streamed_.empty()) bringStreamSourceToFront(formOf(step.sendWire));
  CombineArgs args;
  args.divisor = step.last ? arithmetic.rules.divisor : 0;
  args.scale = arithmetic.scale;
  for (std::size_t first = 0; first < step.elems; first += pieceElems) {
    args.sources = operands_;
    args.targets = targets_;
    args.elems = std::min(pieceElems, step.elems - first);
    arithmetic.combine(args);
    for (std::byte*& slot : streamed_) {
      streamedCopy(slot, targets_.front().data, args.elems * wireBytes);
      slot += args.elems * wireBytes;
    }
    advance(args.elems, arithmetic.rules);
  }
}

void Lane::bringStreamSourceToFront(Form form) {
  const auto source = std::ranges::find(targets_, form, &Target::form);
  if (source != targets_.end()) {
    std::swap(targets_.front(), *source);
  } else {
    targets_.insert(targets_.begin(), {piece_.data(), form});
  }
}

void Lane::advance(std::size_t elems, const StepArithmetic& rules) {
  const auto bytesOf = [&](Form form) {
    return elems *
           (form == Form::kAccumulator ? rules.wireBytes(Wire::kAccumulator) : rules.elemBytes);
  };
  for (Operand& operand : operands_)
    operand.data = static_cast<const std::byte*>(operand.data) + bytesOf(operand.form);
  for (Target& target : targets_) {
    if (target.data != piece_.data())
      target.data = static_cast<std::byte*>(target.data) + bytesOf(target.form);
  }
}

void Lane::gatherOperands(const Step& step, std::size_t row, const Work& work) {
  const std::size_t rowBytes = step.elems * work.arithmetic.rules.wireBytes(step.recvWire);
  operands_.clear();
  for (int i = 0; i < step.recv.count; ++i) {
    if (i == step.ownPosition && step.own != Source::kNone) {
      operands_.push_back(ownOperand(step, row, work));
    }
    operands_.push_back({recvEnd(step, i).payload() + row * rowBytes, formOf(step.recvWire)});
  }
  if (step.ownPosition >= step.recv.count && step.own != Source::kNone) {
    operands_.push_back(ownOperand(step, row, work));
  }
}

Operand Lane::ownOperand(const Step& step, std::size_t row, const Work& work) {
  const std::size_t elemBytes = work.arithmetic.rules.elemBytes;
  switch (step.own) {
    case Source::kInput:
      return {work.buffers.input + step.userRow(step.inputOffset, row) * elemBytes,
              work.arithmetic.scale != nullptr ? Form::kScaled : Form::kNative};
    case Source::kOutput:
      return {work.buffers.output + step.userRow(step.outputOffset, row) * elemBytes,
              Form::kNative};
    case Source::kScratch:
      return {scratchAt(step, row, elemBytes), Form::kNative};
    case Source::kNone:
      break;
  }
  return {};
}

void Lane::gatherTargets(const Step& step, std::size_t row, const Work& work) {
  const std::size_t elemBytes = work.arithmetic.rules.elemBytes;
  const std::size_t rowBytes = step.elems * work.arithmetic.rules.wireBytes(step.sendWire);
  targets_.clear();
  streamed_.clear();
  for (int i = 0; i < step.send.count; ++i) {
    const Way way = ways_[static_cast<std::size_t>(i)];
    if (way == Way::kElsewhere) continue;
    std::byte* slot = sendEnd(step, i).slot() + row * rowBytes;
    if (way == Way::kStreamed) {
      streamed_.push_back(slot);
    } else {
      targets_.push_back({slot, formOf(step.sendWire)});
    }
  }
  if (step.to == Sink::kOutput) {
    std::byte* output = work.buffers.output + step.userRow(step.outputOffset, row) * elemBytes;
    if (work.streamsOutput && step.sendWire == Wire::kNative) {
      streamed_.push_back(output);
    } else {
      targets_.push_back({output, Form::kNative});
    }
  } else if (step.to == Sink::kScratch) {
    targets_.push_back({scratchAt(step, row, elemBytes), Form::kNative});
  }
}

void Lane::passSlots(const Step& step, const Work& work) {
  const SlotEntry entry{step.slotElems() * work.arithmetic.rules.wireBytes(step.sendWire),
                        work.call};
  const bool streamed =
      work.streamsOutput || std::ranges::find(ways_, Way::kStreamed) != ways_.end();
  if (step.elems > 0 && streamed) fenceStreamedStores();
  for (int i = 0; i < step.send.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (ways_[at] == Way::kElsewhere) {
      sendEnd(step, i).postElsewhere(entry, places_[at]);
    } else {
      sendEnd(step, i).post(entry);
    }
  }
  for (int i = 0; i < step.recv.count; ++i)
    recvEnd(step, i).release();
}

Blocked Lane::blockedOn(const Work& work) {
  if (next_ == size_) {
    const SendEnd* const unsettled = unsettledEnd();
    return unsettled != nullptr ? Blocked{unsettled->peer(), false} : Blocked{};
  }
  const Step step = nextStep();
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

void Lane::withdraw(const std::function<void(int)>& onReader) {
  for (SendEnd* const end : send_)
    if (!end->withdraw()) onReader(end->peer());
}

}  // namespace rondo::host
