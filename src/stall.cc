#include "src/stall.h"

#include "collectives/schedule.h"
#include "kernels/data_type.h"

namespace rondo {

std::string describeCall(const CallSignature& call) {
  if (call.sequence == 0) return "none";
  const auto collective = static_cast<Collective>(call.collective);
  std::string text = fmt::format("{} #{}", collectiveName(collective), call.sequence);
  if (collective == Collective::kBarrier) return text;
  text += fmt::format(" {}", dataTypeName(static_cast<DataType>(call.type)));
  if (isReduction(collective)) {
    text += fmt::format(" {}", reduceOpName(static_cast<ReduceOp>(call.op)));
  }
  text += fmt::format(" count {}", call.count);
  if (hasRoot(collective)) text += fmt::format(" root {}", call.root);
  return text;
}

Status mismatchWith(int rank, const CallSignature& own, int peer, const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.read();
  if (theirs.has_value() && *theirs == own) {
    return Status::mismatch(
        "rank {} called {} and so did rank {}, but what it sent belongs to an earlier call that "
        "differed between the two: all ranks must make the same calls in the same order with the "
        "same arguments",
        rank, describeCall(own), peer);
  }
  return Status::mismatch(
      "rank {} called {}, but rank {} called {}: all ranks must make the same calls in the same "
      "order with the same arguments",
      rank, describeCall(own), peer, theirs.has_value() ? describeCall(*theirs) : "something else");
}

Status judgePeer(int rank, const CallSignature& own, int peer, const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.read();
  if (theirs.has_value() && theirs->sequence == own.sequence && *theirs != own) {
    return mismatchWith(rank, own, peer, record);
  }
  if (record.hasLeft() && record.finished() < own.sequence) {
    return Status::peerLost(
        "rank {}: {} needs rank {}, which destroyed its communicator after its call #{}", rank,
        describeCall(own), peer, record.finished());
  }
  return {};
}

Status finishedWithout(int rank, const CallSignature& own, int peer, const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.read();
  return Status::mismatch(
      "rank {} called {}, but rank {} finished a different call #{} (its last call: {}): all ranks "
      "must make the same calls in the same order with the same arguments",
      rank, describeCall(own), peer, own.sequence,
      theirs.has_value() ? describeCall(*theirs) : "something else");
}

Status lostBefore(int rank, const CallSignature& own, int peer, std::string_view why) {
  return Status::peerLost(
      "rank {}: {} needs rank {}, but {}; its own output may say why, and the system log if it was "
      "killed for lack of memory",
      rank, describeCall(own), peer, why);
}

std::string describePeer(const CallSignature& own,
                         const host::Blocked& blocked,
                         const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.read();
  if (!theirs.has_value() || theirs->sequence < own.sequence) {
    return fmt::format("rank {}, which has not called yet (its last call: {})", blocked.peer,
                       theirs.has_value() ? describeCall(*theirs) : "none");
  }
  return fmt::format("rank {} to {} data", blocked.peer, blocked.receiving ? "send" : "take");
}

}  // namespace rondo
