#include "kernels/host/message_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/host/streamed_copy.h"
#include "kernels/memory_order.h"
#include "kernels/step_ready.h"

namespace rondo::host {

MessageLane::MessageLane(MessageTable table,
                         std::vector<SendEnd*> send,
                         std::vector<Source> recv,
                         std::span<const MessageMemory> messages,
                         std::size_t elsewhereBytes)
    : table_(std::move(table)),
      size_(table_.rounds().size()),
      send_(std::move(send)),
      recv_(std::move(recv)),
      messages_(messages),
      elsewhereBytes_(elsewhereBytes),
      elsewhere_(send_.size()) {}

void MessageLane::restart() {
  next_ = 0;
  aside_.reset();
  std::ranges::fill(elsewhere_, std::nullopt);
}

StepResult MessageLane::tryStep() {
  if (next_ == size_) return unsettled() ? StepResult::kNotReady : StepResult::kFinished;
  const MessageStep step = table_.rounds().step(next_);
  if (!step.sends) return receive(step);
  if (!ready(step)) return StepResult::kNotReady;
  send(step);
  ++next_;
  return StepResult::kRan;
}

StepResult MessageLane::receive(const MessageStep& step) {
  const Source& source = recv_[step.round];
  const MessageLabel label = messages_[step.message].label;
  if (step.offset == 0 && !aside_.has_value()) aside_ = source.inbox->take(label.tag());
  switch (find(step)) {
    case Found::kNothing:
      return StepResult::kNotReady;
    case Found::kOtherLabel:
      return StepResult::kMismatch;
    case Found::kOtherTag: {
      const bool put = source.inbox->putAside(*source.end, table_.pieceBytes());
      return put ? StepResult::kRan : StepResult::kNotReady;
    }
    case Found::kPiece:
      break;
  }
  // A sender that has withdrawn what it posted has failed, which ends this operation, too.
  if (!hasAside(step) && !source.end->beginRead()) {
    source.end->cancelRead();
    return StepResult::kNotReady;
  }
  take(step);
  if (step.offset + step.elems == label.bytes()) aside_.reset();
  ++next_;
  return StepResult::kRan;
}

bool MessageLane::ready(const MessageStep& step) {
  return stepReady(step.step(), Ends{send_, recv_});
}

bool MessageLane::hasAside(const MessageStep& step) const {
  return aside_.has_value() && aside_->filled >= step.offset + step.elems &&
         (step.elems > 0 || aside_->filled == aside_->bytes.size());
}

MessageLane::Found MessageLane::find(const MessageStep& step) {
  const std::uint64_t label = messages_[step.message].label.word();
  if (aside_.has_value() && aside_->label.word() != label) return Found::kOtherLabel;
  if (hasAside(step)) return Found::kPiece;
  if (!ready(step)) return Found::kNothing;
  const SlotEntry& entry = recv_[step.round].end->entry();
  if (entry.call == label && entry.payloadBytes() == step.elems) return Found::kPiece;
  const bool otherTag = MessageLabel(entry.call).tag() != messages_[step.message].label.tag();
  return step.offset == 0 && otherTag ? Found::kOtherTag : Found::kOtherLabel;
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
  const SlotEntry entry{step.elems, memory.label.word()};
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

void MessageLane::take(const MessageStep& step) {
  const MessageMemory& memory = messages_[step.message];
  const bool fromAside = hasAside(step);
  const Source& source = recv_[step.round];
  if (step.elems > 0) {
    const std::byte* const from =
        fromAside ? aside_->bytes.data() + step.offset : source.end->payload();
    std::memcpy(memory.target + step.offset, from, step.elems);
  }
  if (fromAside) return;
  source.inbox->received(memory.label, table_.pieceBytes());
  source.end->release();
}

MessageLabel MessageLane::foundLabel(const MessageStep& step) const {
  return aside_.has_value() ? aside_->label : MessageLabel(recv_[step.round].end->entry().call);
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
  const int peer = recv_[step.round].end->peer();
  switch (find(step)) {
    case Found::kNothing:
      return Wait{{peer, true}, step.message};
    case Found::kOtherLabel:
      return Wait{{peer, true, foundLabel(step).word()}, step.message};
    case Found::kPiece:
    case Found::kOtherTag:
      break;
  }
  return std::nullopt;
}

}  // namespace rondo::host
