#include "kernels/host/message_lane.h"

#include <cstring>
#include <utility>

#include "kernels/host/streamed_copy.h"
#include "kernels/memory_order.h"
#include "kernels/step_ready.h"

namespace rondo::host {

MessageLane::MessageLane(MessageTable table,
                         std::vector<SendEnd*> send,
                         std::vector<RecvEnd*> recv,
                         std::span<const MessageMemory> messages,
                         std::size_t elsewhereBytes)
    : table_(std::move(table)),
      size_(table_.rounds().size()),
      send_(std::move(send)),
      recv_(std::move(recv)),
      messages_(messages),
      elsewhereBytes_(elsewhereBytes),
      elsewhere_(send_.size()) {}

StepResult MessageLane::tryStep() {
  if (next_ == size_) return unsettled() ? StepResult::kNotReady : StepResult::kFinished;
  const MessageStep step = table_.rounds().step(next_);
  if (!stepReady(step.step(), Ends{send_, recv_})) return StepResult::kNotReady;
  if (step.sends) {
    send(step);
  } else {
    if (!slotMatches(step)) return StepResult::kMismatch;
    // A sender that has withdrawn what it posted has failed, which ends this operation, too.
    if (!recv_[step.round]->beginRead()) {
      recv_[step.round]->cancelRead();
      return StepResult::kNotReady;
    }
    receive(step);
  }
  ++next_;
  return StepResult::kRan;
}

bool MessageLane::slotMatches(const MessageStep& step) const {
  const SlotEntry& entry = recv_[step.round]->entry();
  return entry.call == messages_[step.message].label && entry.payloadBytes() == step.elems;
}

namespace {

/// Copies `bytes` bytes into the slot of `end` in the way that suits it.
void fillSlot(SendEnd& end, const std::byte* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (!end.wantsStreamedStores(bytes)) {
    std::memcpy(end.slot(), source, bytes);
    return;
  }
  streamedCopy(end.slot(), source, bytes);
  fenceStreamedStores();
}

}  // namespace

void MessageLane::send(const MessageStep& step) {
  const MessageMemory& memory = messages_[step.message];
  const std::byte* const source = memory.source + step.offset;
  const SlotEntry entry{step.elems, memory.label};
  SendEnd& end = *send_[step.round];
  const bool copies = elsewhereBytes_ == 0 || step.elems < elsewhereBytes_;
  if (const auto place = copies ? std::nullopt : end.nameOf(source, step.elems)) {
    elsewhere_[step.round] = step.message;
    end.postElsewhere(entry, *place);
    return;
  }
  fillSlot(end, source, step.elems);
  end.post(entry);
}

void MessageLane::receive(const MessageStep& step) {
  RecvEnd& end = *recv_[step.round];
  if (step.elems > 0)
    std::memcpy(messages_[step.message].target + step.offset, end.payload(), step.elems);
  end.release();
}

/// What the receivers have to release before the caller may change its buffers.
std::optional<MessageLane::Wait> MessageLane::unsettled() const {
  for (std::size_t round = 0; round < elsewhere_.size(); ++round) {
    if (!elsewhere_[round] || send_[round]->settled()) continue;
    return Wait{{send_[round]->peer(), false}, *elsewhere_[round]};
  }
  return std::nullopt;
}

void MessageLane::withdraw(const std::function<void(int)>& onReader) {
  for (SendEnd* const end : send_)
    if (end != nullptr && !end->withdraw()) onReader(end->peer());
}

std::optional<MessageLane::Wait> MessageLane::wait() {
  if (next_ == size_) return unsettled();
  const MessageStep step = table_.rounds().step(next_);
  if (step.sends) {
    if (send_[step.round]->slotFree()) return std::nullopt;
    return Wait{{send_[step.round]->peer(), false}, step.message};
  }
  RecvEnd& end = *recv_[step.round];
  if (!end.slotFull()) return Wait{{end.peer(), true}, step.message};
  if (slotMatches(step)) return std::nullopt;
  return Wait{{end.peer(), true, end.entry().call}, step.message};
}

}  // namespace rondo::host
