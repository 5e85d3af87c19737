#include "tests/schedule/step_executor.h"

#include <algorithm>

#include "kernels/lasting_payload.h"
#include "kernels/step_ready.h"

namespace rondo::verifier {
namespace {

/// The slots of one rank as stepReady() asks for them.
struct Ends {
  const RankState& state;
  std::size_t slots;
  ExecutorFault fault;

  bool recvSlotFull(int entry) const {
    return fault == ExecutorFault::kIgnoreFullSlots ||
           state.recvEnds[static_cast<std::size_t>(entry)]->slotFull();
  }

  bool sendSlotFree(int entry) const {
    return fault == ExecutorFault::kIgnoreFreeSlots ||
           state.sendEnds[static_cast<std::size_t>(entry)]->slotFree(slots);
  }
};

bool inTable(PeerRange range, std::size_t tableSize) {
  const auto size = static_cast<int>(tableSize);
  return range.count == 0 || (range.first >= 0 && range.count > 0 && range.first < size &&
                              range.count <= size - range.first);
}

std::size_t entryOf(PeerRange range, std::size_t i) {
  return static_cast<std::size_t>(range.first) + i;
}

}  // namespace

bool StepExecutor::load(RankState& state) {
  state.begun = false;
  if (state.index == state.size) return true;
  state.step = state.schedule->step(state.index);
  const Step& step = state.step;
  if (!inTable(step.recv, state.recvEnds.size()) || !inTable(step.send, state.sendEnds.size())) {
    return fail(state, Failure::kPeerRange, "entries beyond the peer tables");
  }
  const bool usesSlots = step.recv.count + step.send.count > 0;
  if (usesSlots && step.slotElems() > state.call->chunkElems) {
    return fail(state, Failure::kSlotTooLarge, step.slotElems(), " elements, a slot holds ",
                state.call->chunkElems);
  }
  if (step.ownPosition < 0 || step.ownPosition > step.recv.count) {
    return fail(state, Failure::kOwnPosition, "place ", step.ownPosition);
  }
  if (step.slotElems() > 0 && step.sources() == 0) {
    return fail(state, Failure::kNoSource, step.slotElems(), " elements from nowhere");
  }
  const bool folds = step.sources() > 1 && step.slotElems() > 0;
  if (!isReduction(state.call->collective()) && (folds || step.last)) {
    return fail(state, Failure::kFoldInMove, step.sources(), " sources, last ", step.last);
  }
  return true;
}

Progress StepExecutor::tryStep(RankState& state) {
  if (!state.begun) {
    if (!ready(state)) return Progress::kBlocked;
    begin(state);
    if (delaysStep()) return Progress::kRan;
  }
  if (!finish(state)) return Progress::kFailed;
  ++steps_;
  ++state.index;
  return load(state) ? Progress::kRan : Progress::kFailed;
}

bool StepExecutor::ready(const RankState& state) const {
  return stepReady(state.step, Ends{state, connections_.slots(), setup_.fault});
}

/// Notes which slots the step uses. Faulty executors release or post them here, too early.
void StepExecutor::begin(RankState& state) {
  const Step& step = state.step;
  state.begun = true;
  state.recvSlots.clear();
  state.sendSlots.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(step.recv.count); ++i) {
    Connection& from = *state.recvEnds[entryOf(step.recv, i)];
    state.recvSlots.push_back(from.released());
    if (setup_.fault == ExecutorFault::kReleaseBeforeRead) from.release();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(step.send.count); ++i) {
    Connection& to = *state.sendEnds[entryOf(step.send, i)];
    state.sendSlots.push_back(to.posted());
    if (setup_.fault == ExecutorFault::kPostBeforeWrite) to.post();
  }
}

bool StepExecutor::finish(RankState& state) {
  state.arrived.add(state.rank);
  const bool ran =
      openReceived(state) && checkRows(state) && fold(state) && store(state) && send(state);
  if (ran) release(state);
  return ran;
}

/// Finds what lies in the received slots.
bool StepExecutor::openReceived(RankState& state) {
  const Step& step = state.step;
  received_.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(step.recv.count); ++i) {
    const std::size_t entry = entryOf(step.recv, i);
    const int peer = state.schedule->recvPeer(static_cast<int>(entry));
    const Payload* const payload = state.recvEnds[entry]->payload(state.recvSlots[i]);
    if (payload == nullptr) {
      const bool lost = state.recvEnds[entry]->overwritten(state.recvSlots[i]);
      const Failure kind = lost ? Failure::kSlotOverwritten : Failure::kSlotMissing;
      return fail(state, kind, "slot ", state.recvSlots[i], " from rank ", peer);
    }
    if (payload->call != state.callIndex) {
      return fail(state, Failure::kForeignSlot, "from rank ", peer, " call ", payload->call);
    }
    if (payload->values.size() != step.slotElems()) {
      return fail(state, Failure::kSlotLength, payload->values.size(), " elements from rank ", peer,
                  " instead of ", step.slotElems());
    }
    if (payload->wire != step.recvWire) {
      return fail(state, Failure::kWireMismatch, "from rank ", peer);
    }
    if (!checkLeftPayload(state, *payload)) return false;
    received_.push_back(payload);
    state.recvUsed[entry] = true;
    state.arrived.add(payload->arrived);
    state.waves = std::max(state.waves, static_cast<std::uint16_t>(payload->waves + 1));
  }
  return true;
}

bool StepExecutor::checkLeftPayload(const RankState& state, const Payload& payload) {
  if (payload.lasting == Source::kNone) return true;
  const RankState& sender = *payload.sender;
  if (sender.callIndex != payload.call) {
    return fail(state, Failure::kPayloadGone, "rank ", sender.rank, " has left call ",
                payload.call);
  }
  if (!sender.memory->holds(payload.lasting, payload.offset, payload.values)) {
    return fail(state, Failure::kPayloadChanged, "rank ", sender.rank, " element ", payload.offset);
  }
  return true;
}

/// Which buffer the payload of the current step is left in.
Source StepExecutor::lastingPayload(const RankState& state) const {
  if (!setup_.leavesPayloads || state.step.slotElems() == 0) return Source::kNone;
  const Call& call = *state.call;
  const bool inputStays = !call.inPlace || !call.info().storesOverSentInput ||
                          setup_.fault == ExecutorFault::kTakeInputForStable;
  return rondo::lastingPayload(
      state.step, arithmeticOf(call.collective(), DataType::kFloat32, ReduceOp::kSum, setup_.ranks),
      inputStays);
}

bool StepExecutor::settled(const RankState& state) {
  for (std::size_t entry = 0; entry < state.sendEnds.size(); ++entry) {
    if (state.sendEnds[entry]->released() < state.leftUpTo[entry]) return false;
  }
  return true;
}

bool StepExecutor::checkRows(const RankState& state) {
  const Step& step = state.step;
  for (std::size_t row = 0; row < step.rows.count; ++row) {
    const std::size_t from = step.own == Source::kScratch ? step.scratchRow(row)
                             : step.own == Source::kInput ? step.userRow(step.inputOffset, row)
                                                          : step.userRow(step.outputOffset, row);
    const std::size_t to =
        step.to == Sink::kScratch ? step.scratchRow(row) : step.userRow(step.outputOffset, row);
    const Failure reading = state.memory->checkRow(step.own, from, step.elems);
    if (reading != Failure::kNone) {
      return fail(state, reading, "reads ", from, "+", step.elems, " row ", row);
    }
    const Failure writing = state.memory->checkRow(step.to, to, step.elems);
    if (writing != Failure::kNone) {
      return fail(state, writing, "writes ", to, "+", step.elems, " row ", row);
    }
  }
  return true;
}

bool StepExecutor::fold(RankState& state) {
  const Step& step = state.step;
  results_.clear();
  if (step.sources() == 0) return true;
  for (std::size_t row = 0; row < step.rows.count; ++row) {
    for (std::size_t column = 0; column < step.elems; ++column) {
      Value sum;
      if (!foldElement(state, row, column, sum)) return false;
      results_.push_back(sum);
    }
  }
  return true;
}

bool StepExecutor::foldElement(RankState& state, std::size_t row, std::size_t column, Value& sum) {
  const Step& step = state.step;
  const std::size_t index = row * step.elems + column;
  const auto ownPlace =
      static_cast<std::size_t>(setup_.fault == ExecutorFault::kOwnFirst ? 0 : step.ownPosition);
  bool empty = true;
  for (std::size_t i = 0; i <= received_.size(); ++i) {
    if (i == ownPlace && step.own != Source::kNone) {
      const std::size_t at = step.own == Source::kScratch ? step.scratchRow(row)
                             : step.own == Source::kInput ? step.userRow(step.inputOffset, row)
                                                          : step.userRow(step.outputOffset, row);
      Value own;
      const Failure read =
          state.memory->read(step.own, at + column, state.mark + state.index, index, own);
      if (read != Failure::kNone) return fail(state, read, "own element ", at + column);
      if (!combine(state, sum, empty, own)) return false;
    }
    if (i == received_.size()) break;
    Value next = received_[i]->values[index];
    ++next.hops;
    if (!combine(state, sum, empty, next)) return false;
  }
  return finishSum(state, sum);
}

bool StepExecutor::combine(const RankState& state, Value& sum, bool& empty, const Value& next) {
  if (empty) {
    sum = next;
    empty = false;
    return true;
  }
  if (sum.element != next.element) {
    return fail(state, Failure::kMixedElements, sum.element, " with ", next.element);
  }
  if (sum.complete || next.complete) {
    return fail(state, Failure::kLastRepeated, "element ", sum.element, " added to when complete");
  }
  if (sum.contributors.intersects(next.contributors)) {
    return fail(state, Failure::kCountedTwice, "element ", sum.element);
  }
  sum.add(next);
  return true;
}

bool StepExecutor::finishSum(const RankState& state, Value& sum) {
  if (!state.step.last) return true;
  if (sum.complete) {
    return fail(state, Failure::kLastRepeated, "element ", sum.element, " is complete already");
  }
  if (sum.contributors != RankSet::all(setup_.ranks)) {
    return fail(state, Failure::kLastOnPartial, "element ", sum.element, " lacks contributions");
  }
  sum.applyLast();
  return true;
}

bool StepExecutor::store(RankState& state) {
  const Step& step = state.step;
  if (step.to == Sink::kNone) return true;
  for (std::size_t index = 0; index < results_.size(); ++index) {
    const std::size_t row = index / step.elems;
    const std::size_t rowAt =
        step.to == Sink::kScratch ? step.scratchRow(row) : step.userRow(step.outputOffset, row);
    const std::size_t at = rowAt + index % step.elems;
    Value value = results_[index];
    value.round();
    const Failure written =
        state.memory->write(step.to, at, state.mark + state.index, index, value);
    if (written != Failure::kNone) return fail(state, written, "stores element ", at);
  }
  return true;
}

bool StepExecutor::send(RankState& state) {
  const Step& step = state.step;
  if (step.send.count == 0) return true;
  Payload* const payload = connections_.pool().take();
  payload->values.assign(results_.begin(), results_.end());
  payload->wire = step.sendWire;
  payload->call = state.callIndex;
  payload->arrived = state.arrived;
  payload->waves = state.waves;
  payload->lasting = lastingPayload(state);
  payload->offset = payload->lasting == Source::kInput ? step.inputOffset : step.outputOffset;
  payload->sender = &state;
  const bool wide = step.sendWire == Wire::kAccumulator;
  if (!wide || setup_.fault == ExecutorFault::kRoundSums) {
    for (Value& value : payload->values)
      value.round();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(step.send.count); ++i) {
    const std::size_t entry = entryOf(step.send, i);
    Connection& to = *state.sendEnds[entry];
    if (setup_.fault != ExecutorFault::kPostBeforeWrite) {
      if (!to.slotFree(connections_.slots())) {
        if (payload->uses == 0) connections_.pool().giveBack(payload);
        const int peer = state.schedule->sendPeer(static_cast<int>(entry));
        return fail(state, Failure::kSlotOverrun, "to rank ", peer);
      }
      to.post();
    }
    to.write(state.sendSlots[i], payload, connections_.slots(), connections_.pool());
    state.sendUsed[entry] = true;
    if (payload->lasting != Source::kNone) state.leftUpTo[entry] = to.posted();
  }
  const auto copies = static_cast<std::size_t>(step.send.count);
  state.counted.slotsSent += copies;
  (wide ? state.counted.wideElemsSent : state.counted.elemsSent) += copies * step.slotElems();
  return true;
}

void StepExecutor::release(RankState& state) {
  ++state.counted.steps;
  const auto sources = static_cast<std::size_t>(state.step.sources());
  if (sources > 1) state.counted.elemsAdded += (sources - 1) * state.step.slotElems();
  if (setup_.fault == ExecutorFault::kNeverRelease) return;
  if (setup_.fault == ExecutorFault::kReleaseBeforeRead) return;  // begin() did
  for (std::size_t i = 0; i < static_cast<std::size_t>(state.step.recv.count); ++i)
    state.recvEnds[entryOf(state.step.recv, i)]->release();
}

std::string StepExecutor::waitsFor(const RankState& state) const {
  const Ends ends{state, connections_.slots(), setup_.fault};
  const Step& step = state.step;
  std::string text =
      joined("rank ", state.rank, " call ", state.callIndex, " step ", state.index, " waits for");
  if (state.index == state.size) return text + " its payloads to be read";
  for (int entry = step.recv.first; entry < step.recv.first + step.recv.count; ++entry) {
    if (ends.recvSlotFull(entry)) continue;
    text += joined(" a full slot from ", state.schedule->recvPeer(entry));
  }
  for (int entry = step.send.first; entry < step.send.first + step.send.count; ++entry) {
    if (ends.sendSlotFree(entry)) continue;
    text += joined(" a free slot to ", state.schedule->sendPeer(entry));
  }
  return text;
}

}  // namespace rondo::verifier
