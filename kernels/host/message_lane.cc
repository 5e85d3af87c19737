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
                         std::span<const MessageMemory> messages)
    : table_(std::move(table)),
      size_(table_.rounds().size()),
      send_(std::move(send)),
      recv_(std::move(recv)),
      messages_(messages) {}

StepResult MessageLane::tryStep() {
  if (next_ == size_) return StepResult::kFinished;
  const MessageStep step = table_.rounds().step(next_);
  if (!stepReady(step.step(), Ends{send_, recv_})) return StepResult::kNotReady;
  if (!step.sends && !slotMatches(step)) return StepResult::kMismatch;
  move(step);
  ++next_;
  return StepResult::kRan;
}

bool MessageLane::slotMatches(const MessageStep& step) const {
  const SlotEntry& entry = recv_[step.round]->entry();
  return entry.call == messages_[step.message].label && entry.bytes == step.elems;
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

void MessageLane::move(const MessageStep& step) {
  const MessageMemory& memory = messages_[step.message];
  if (step.sends) {
    SendEnd& end = *send_[step.round];
    fillSlot(end, memory.source + step.offset, step.elems);
    end.post({step.elems, memory.label});
  } else {
    RecvEnd& end = *recv_[step.round];
    if (step.elems > 0) std::memcpy(memory.target + step.offset, end.slot(), step.elems);
    end.release();
  }
}

std::optional<MessageLane::Wait> MessageLane::wait() {
  if (next_ == size_) return std::nullopt;
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
