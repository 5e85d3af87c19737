#include "src/stall.h"

#include <algorithm>
#include <utility>

#include "collectives/schedule.h"
#include "kernels/codec.h"
#include "kernels/data_type.h"
#include "src/element_name.h"
#include "src/log.h"

namespace rondo {

namespace {

/// @param op CallSignature::op
std::string_view nameOfOp(std::uint8_t op) {
  if (op == signatureOp(ReduceOp::kMax, Combiner::kUser)) return "user";
  if (op == signatureOp(ReduceOp::kMax, Combiner::kOrderedUser)) return "user (in rank order)";
  return reduceOpName(static_cast<ReduceOp>(op));
}

}  // namespace

std::string describeCall(const CallSignature& call) {
  if (call.sequence == 0) return "none";
  const auto collective = static_cast<Collective>(call.collective);
  std::string text =
      fmt::format("{}{} #{}", collectiveName(collective), call.varied() ? "_v" : "", call.sequence);
  if (call.codec != 0)
    text += fmt::format(" compressed {}", codecName(static_cast<Codec>(call.codec - 1)));
  if (collective == Collective::kBarrier) return text;
  text += fmt::format(" {}", elementName(static_cast<DataType>(call.type), call.pairs()));
  if (isReduction(collective)) text += fmt::format(" {}", nameOfOp(call.op));
  const std::uint64_t elems = call.count / (call.pairs() ? 2 : 1);
  if (!call.varied()) {
    text += fmt::format(" count {}", elems);
  } else if (!hasRoot(collective) && collective != Collective::kAllToAll) {
    text += fmt::format(" counts {} in all", elems);
  }
  if (hasRoot(collective)) text += fmt::format(" root {}", call.root);
  return text;
}

namespace {

Status differentCalls(int rank, const CallSignature& own, int peer, const CallSignature& theirs) {
  const std::string ours = describeCall(own);
  const std::string others = describeCall(theirs);
  return Status::mismatch(
      "rank {} called {}, but rank {} called {}{}: all ranks must make the same calls in the same "
      "order with the same arguments",
      rank, ours, peer, others,
      ours != others   ? ""
      : own.varied()   ? " with other counts of single blocks"
      : own.codec != 0 ? " with other blocks or tensors, or they planned it, or called something "
                         "before it, differently"
                       : " and they planned it, or called something before it, differently");
}

/// The error for ranks that make one call but count the elements between them differently.
Status otherCounts(const Waiting& own, int peer) {
  return Status::mismatch(
      "rank {} called {}, and so did rank {}, but their counts differ for what goes from one of "
      "the "
      "two to the other: what a rank sends to another one must be what that one receives from it",
      own.rank, describeCall(own.call), peer);
}

/// The first remembered call of the two ranks that has the same number on both, but differs.
std::optional<std::pair<CallSignature, CallSignature>> firstDifference(const CallRecord& own,
                                                                       const CallRecord& theirs) {
  const std::optional<CallSignature> latest = own.read();
  if (!latest.has_value()) return std::nullopt;
  const std::uint64_t last = latest->sequence;
  for (std::uint64_t sequence = last - std::min(last, CallRecord::kHistory - 1); sequence <= last;
       ++sequence) {
    const std::optional<CallSignature> here = own.call(sequence);
    const std::optional<CallSignature> there = theirs.call(sequence);
    if (here.has_value() && there.has_value() && *here != *there) return {{*here, *there}};
  }
  return std::nullopt;
}

}  // namespace

Status compareCall(int rank, const CallSignature& own, int peer, const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.call(own.sequence);
  if (!theirs.has_value() || *theirs == own) return {};
  return differentCalls(rank, own, peer, *theirs);
}

Status mismatchWith(const Waiting& own,
                    int peer,
                    const CallRecord& record,
                    std::uint64_t otherCall) {
  if (const auto difference = firstDifference(own.record, record)) {
    return differentCalls(own.rank, difference->first, peer, difference->second);
  }
  if (otherCall == own.call.fingerprint()) return otherCounts(own, peer);
  const std::optional<CallSignature> sent = record.callOf(otherCall);
  if (sent.has_value()) {
    return Status::mismatch(
        "rank {} is in {}, but rank {} sent data of {}: all ranks must make the same calls in the "
        "same order with the same arguments",
        own.rank, describeCall(own.call), peer, describeCall(*sent));
  }
  return Status::mismatch(
      "rank {} called {}, but what rank {} sent belongs to an earlier call that differed between "
      "the two and is no longer remembered: all ranks must make the same calls in the same order "
      "with the same arguments",
      own.rank, describeCall(own.call), peer);
}

Status judgePeer(const Waiting& own, int peer, const CallRecord& record) {
  if (const auto difference = firstDifference(own.record, record)) {
    return differentCalls(own.rank, difference->first, peer, difference->second);
  }
  if (record.hasLeft() && record.finished() < own.call.sequence) {
    return Status::peerLost(
        "rank {}: {} needs rank {}, which destroyed its communicator after its call #{}", own.rank,
        describeCall(own.call), peer, record.finished());
  }
  return {};
}

Status finishedWithout(const Waiting& own, int peer, const CallRecord& record) {
  // News of the peer may have come since it was judged.
  if (const auto difference = firstDifference(own.record, record)) {
    return differentCalls(own.rank, difference->first, peer, difference->second);
  }
  const std::optional<CallSignature> theirs = record.read();
  if (own.call.varied() && record.call(own.call.sequence) == own.call)
    return otherCounts(own, peer);
  return Status::mismatch(
      "rank {} called {}, but rank {} finished a different call #{} (its last call: {}): all ranks "
      "must make the same calls in the same order with the same arguments",
      own.rank, describeCall(own.call), peer, own.call.sequence,
      theirs.has_value() ? describeCall(*theirs) : "something else");
}

std::optional<CallRecord::Rejection> rejectionOf(const CallSignature& own,
                                                 const CallRecord& record) {
  const std::optional<CallSignature> latest = record.read();
  std::optional<CallRecord::Rejection> rejection = record.rejection();
  if (!latest.has_value() || !rejection.has_value()) return std::nullopt;
  const bool calledSince = latest->sequence >= rejection->sequence;
  if (calledSince || rejection->sequence > own.sequence) return std::nullopt;
  return rejection;
}

Status rejectedBy(const Waiting& own, int peer, const CallRecord::Rejection& rejection) {
  const CallSignature call = own.record.call(rejection.sequence).value_or(own.call);
  return Status::mismatch("rank {} called {}, but rank {} rejected its call #{}: {}", own.rank,
                          describeCall(call), peer, rejection.sequence, rejection.why);
}

Status lostBefore(int rank, const CallSignature& own, int peer, std::string_view why) {
  return Status::peerLost("rank {}: {} needs rank {}, but {}", rank, describeCall(own), peer, why);
}

Status waitedTooLong(int rank,
                     const CallSignature& own,
                     std::chrono::milliseconds waited,
                     std::string_view who) {
  return Status::timeout("rank {}: {} waited {} ms for {}", rank, describeCall(own), waited.count(),
                         who);
}

void warnOfWait(int rank,
                std::string_view communicator,
                const CallSignature& own,
                std::chrono::milliseconds waited,
                std::string_view who) {
  RONDO_LOG(kWarn, kExecutor, (LogContext{rank, communicator}), "{} waits {} ms for {}",
            describeCall(own), waited.count(), who);
}

namespace {

bool hasCalled(const CallSignature& own, const CallRecord& record) {
  const std::optional<CallSignature> theirs = record.read();
  return theirs.has_value() && theirs->sequence >= own.sequence;
}

}  // namespace

std::chrono::milliseconds patienceBeyondLimit(const CallSignature& own,
                                              const host::Blocked& blocked,
                                              const CallRecord& record) {
  constexpr std::chrono::seconds kByStage{1};
  return hasCalled(own, record) ? (blocked.stage + 1) * kByStage : std::chrono::seconds{0};
}

std::string describePeer(const CallSignature& own,
                         const host::Blocked& blocked,
                         const CallRecord& record) {
  if (!hasCalled(own, record)) {
    const std::optional<CallSignature> theirs = record.read();
    return fmt::format("rank {}, which has not called yet (its last call: {})", blocked.peer,
                       theirs.has_value() ? describeCall(*theirs) : "unknown");
  }
  return fmt::format("rank {} to {} data", blocked.peer, blocked.receiving ? "send" : "take");
}

}  // namespace rondo
