// Runs messages from rank to rank in a kernel: one block per lane, one piece of a message at a
// time. The device's twin of kernels/host/message_lane.cc. It moves bytes and knows no types, so
// that there is one such kernel, and those of collectives (kernels/cuda/executor.h) know nothing of
// messages.
//
// One thread of a block waits for the slot of a piece, and hands it over; all threads copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/message_launch.h"
#include "kernels/cuda/waiting.h"

namespace rondo::device {

namespace detail {

template <class Unit>
RONDO_DEVICE void copyUnits(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto* const targets = reinterpret_cast<Unit*>(to);
  const auto* const sources = reinterpret_cast<const Unit*>(from);
  for (std::size_t i = threadIndex(); i < bytes / sizeof(Unit); i += blockThreads())
    targets[i] = sources[i];
}

/// The same, with the bytes before the first whole unit and after the last one.
template <class Unit>
RONDO_DEVICE void copyAround(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % sizeof(Unit);
  const std::size_t head = minOf(beyond == 0 ? 0 : sizeof(Unit) - beyond, bytes);
  const std::size_t whole = (bytes - head) / sizeof(Unit) * sizeof(Unit);
  copyUnits<std::byte>(to, from, head);
  copyUnits<Unit>(to + head, from + head, whole);
  copyUnits<std::byte>(to + head + whole, from + head + whole, bytes - head - whole);
}

}  // namespace detail

/// All threads of the block: copies `bytes` bytes, in the largest units that both places allow.
RONDO_DEVICE void copyBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::uintptr_t apart =
      reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  if (apart % sizeof(Pack) == 0) {
    detail::copyAround<Pack>(to, from, bytes);
  } else if (apart % sizeof(std::uint64_t) == 0) {
    detail::copyAround<std::uint64_t>(to, from, bytes);
  } else if (apart % sizeof(std::uint32_t) == 0) {
    detail::copyAround<std::uint32_t>(to, from, bytes);
  } else {
    detail::copyUnits<std::byte>(to, from, bytes);
  }
}

/// One lane being run by a block.
class MessageRunner {
 public:
  RONDO_DEVICE MessageRunner(const RankWork& work, const MessageLane& lane)
      : lane_(lane), wait_(work, *lane.report) {}

  /// All threads of the block: all pieces of the lane. Says in the report if it failed.
  RONDO_DEVICE void run() {
    for (std::size_t i = 0; i < lane_.own.size; ++i) {
      const OwnMessage& message = lane_.own.first[i];
      if (message.target != message.source)
        copyBytes(message.target, message.source, message.bytes);
    }
    const MessageRounds rounds(lane_.rounds, lane_.sends, lane_.recvs, lane_.pieceBytes);
    const std::size_t size = rounds.size();
    bool goesOn = true;
    for (std::size_t index = 0; index < size && goesOn; ++index) {
      const MessageStep step = rounds.step(index);
      goesOn = step.sends ? send(step) : receive(step);
    }
  }

 private:
  /// Whether the calling thread waits for all of its block.
  static RONDO_DEVICE bool waits() { return threadIndex() == 0; }

  RONDO_DEVICE bool send(const MessageStep& step) {
    End& end = *lane_.send[step.round];
    const Message& message = lane_.messages[step.message];
    if (waits()) claim(end, step);
    if (giveUp()) return false;
    copyBytes(slotOf(end), message.source + step.offset, step.elems);
    syncBlock();
    if (!waits()) return true;
    end.entries[end.slotIndex()] = {step.elems, message.label};
    end.pass(Protocol::kStaged);
    postCounter(*end.tail, end.position);
    return true;
  }

  RONDO_DEVICE bool receive(const MessageStep& step) {
    End& end = *lane_.recv[step.round];
    const Message& message = lane_.messages[step.message];
    if (waits()) take(end, message, step);
    if (giveUp()) return false;
    copyBytes(message.target + step.offset, slotOf(end), step.elems);
    syncBlock();
    if (!waits()) return true;
    end.pass(Protocol::kStaged);
    postCounter(*end.head, end.position);
    return true;
  }

  static RONDO_DEVICE std::byte* slotOf(const End& end) {
    return end.slots + end.slotIndex() * end.slotBytes;
  }

  /// awaitCounter(), and takes back what the host was told of a wait that is over: in another lane
  /// the group may wait for somebody else.
  RONDO_DEVICE bool await(const std::uint64_t& counter, std::uint64_t value) {
    std::uint32_t polls = 0;
    while (observeCounter(counter) < value) {
      if (!wait_.goOn()) return false;
      ++polls;
    }
    if (polls >= kPollsPerLook * kPatientLooks) tellHost(lane_.report->waits, 0);
    return true;
  }

  /// Waits for a free slot.
  RONDO_DEVICE void claim(const End& end, const MessageStep& step) {
    wait_.waitFor(static_cast<std::int32_t>(step.message), false);
    if (end.position >= end.slotCount) (void)await(*end.head, end.position - end.slotCount + 1);
  }

  /// Waits for a full slot, and looks whether it is this message's.
  RONDO_DEVICE void take(const End& end, const Message& message, const MessageStep& step) {
    wait_.waitFor(static_cast<std::int32_t>(step.message), true);
    if (!await(*end.tail, end.position + 1)) return;
    const SlotEntry& entry = end.entries[end.slotIndex()];
    if (entry.call == message.label && entry.bytes == step.elems) return;
    mismatch_ = true;
    lane_.report->peer = static_cast<std::int32_t>(step.message);
    lane_.report->otherCall = entry.call;
  }

  /// All threads of the block: whether the lane ends here, which the one that waits then reports.
  RONDO_DEVICE bool giveUp() {
    if (!syncBlockAny(mismatch_ || wait_.givenUp())) return false;
    if (waits()) postCounter(lane_.report->state, mismatch_ ? Report::kMismatch : Report::kAborted);
    return true;
  }

  const MessageLane& lane_;
  Wait wait_;
  bool mismatch_ = false;
};

/// The body of the kernel of messages: this block's lane of the launch.
RONDO_DEVICE void runMessages(const MessageArgs& args) {
  MessageRunner(args.work, args.lanes[blockIndex()]).run();
}

}  // namespace rondo::device
