#include "src/message_stall.h"

#include "src/log.h"
#include "src/stall.h"

namespace rondo {

Status messageMismatch(int rank, const MessageList& messages, const host::MessageLane::Wait& wait) {
  return Status::mismatch(
      "rank {} called {}, but the {} on rank {} is of {}: both ends of a message must give the "
      "same "
      "type and count, and make the messages between two ranks in the same order",
      rank, messages.describe(wait.message), messages.describeOtherEnd(wait.message),
      wait.blocked.peer, labelText(host::MessageLabel(wait.blocked.otherCall)));
}

Status messagePeerLost(int rank,
                       const MessageList& messages,
                       const host::MessageLane::Wait& wait,
                       std::string_view whyLost) {
  const std::string call = messages.describe(wait.message);
  if (whyLost.empty()) {
    return Status::peerLost(
        "rank {}: {} needs rank {}, which has left its communicator without the {}", rank, call,
        wait.blocked.peer, messages.describeOtherEnd(wait.message));
  }
  return Status::peerLost(
      "rank {}: {} needs rank {}, but {}; its own output may say why, and the system log if it was "
      "killed for lack of memory",
      rank, call, wait.blocked.peer, whyLost);
}

Status messageRejected(int rank,
                       const MessageList& messages,
                       const host::MessageLane::Wait& wait,
                       std::string_view why) {
  return Status::mismatch("rank {} called {}, but rank {} rejected its messages: {}", rank,
                          messages.describe(wait.message), wait.blocked.peer, why);
}

std::string describeMessageWait(const MessageList& messages,
                                const host::MessageLane::Wait& wait,
                                const CallRecord& record,
                                std::string_view aside) {
  const std::uint64_t begun = record.messageGroupsBegun();
  const std::uint64_t finished = record.messageGroupsFinished();
  const std::string groups =
      begun > finished
          ? fmt::format("is in its group #{} of messages", begun)
          : fmt::format("is in no group of messages (it has finished {} so far)", finished);
  const auto last = record.read();
  // Both may be sending to each other, and each wait for the other to receive.
  const bool maybeCrossed = !wait.blocked.receiving && begun > finished;
  return fmt::format("its {}: rank {} {}; its last collective call: {}{}{}",
                     messages.describe(wait.message), wait.blocked.peer, groups,
                     last.has_value() ? describeCall(*last) : "unknown", aside,
                     maybeCrossed ? "; if the two send to each other, make both calls of each rank "
                                    "in one group (rondoGroupStart)"
                                  : "");
}

Status messagesWaitedTooLong(int rank, std::chrono::milliseconds waited, std::string_view what) {
  return Status::timeout("rank {} waited {} ms for {}", rank, waited.count(), what);
}

void warnOfMessageWait(int rank,
                       std::string_view communicator,
                       std::chrono::milliseconds waited,
                       std::string_view what) {
  RONDO_LOG(kWarn, kExecutor, (LogContext{rank, communicator}), "waits {} ms for {}",
            waited.count(), what);
}

}  // namespace rondo
