#include "src/cuda/device_judge.h"

#include <utility>

#include "src/cuda/patience.h"

namespace rondo::cuda {

DeviceJudge::DeviceJudge(
    int rank, int ranks, std::shared_ptr<RankGroup> group, Pump& pump, const Config& config)
    : rank_(rank), ranks_(ranks), group_(std::move(group)), pump_(pump), config_(config) {}

Status DeviceJudge::judge(JudgedWait& wait, host::Blocked blocked) const {
  if (host::flagRaised(group_->failedFlag())) return group_->failure();
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - wait.since);
  askOthers(wait);
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer != rank_) RONDO_RETURN_IF_ERROR(judgePeerOf(wait, peer));
  }
  const bool late = isDue(config_.operationTimeout, waited);
  const bool warns = isDue(config_.warningAfter, waited) && !wait.warned;
  if (!late && !warns) return {};
  if (blocked.peer < 0) blocked = firstBehind(wait.call);
  const std::string who = blocked.peer < 0
                              ? "its kernel to end"
                              : describePeer(wait.call, blocked, group_->record(blocked.peer));
  if (late) return waitedTooLong(rank_, wait.call, waited, who);
  wait.warned = true;
  warnOfWait(rank_, config_.name, wait.call, waited, who);
  return {};
}

Status DeviceJudge::judgePeerOf(JudgedWait& wait, int peer) const {
  const CallRecord& record = group_->record(peer);
  // The rank's own record may have moved on: calls are launched ahead of their completion.
  RONDO_RETURN_IF_ERROR(compareCall(rank_, wait.call, peer, record));
  RONDO_RETURN_IF_ERROR(judgePeer(waiting(wait.call), peer, record));
  if (record.finished() >= wait.call.sequence) return {};
  RONDO_RETURN_IF_ERROR(judgeLoss(wait, peer));
  const auto rejection = rejectionOf(wait.call, record);
  if (!rejection.has_value()) return {};
  const auto now = std::chrono::steady_clock::now();
  if (!wait.rejectionSeen.has_value()) wait.rejectionSeen = now;
  if (now - *wait.rejectionSeen >= kTimeToCallAgain)
    return rejectedBy(waiting(wait.call), peer, *rejection);
  return {};
}

/// The peer may have finished its part before it was lost, without a word about it: what it has
/// left is in this rank's slots by now, and enough for the kernel to end, or not.
Status DeviceJudge::judgeLoss(JudgedWait& wait, int peer) const {
  if (wait.lost >= 0 && wait.lost != peer) return {};  // that one is judged first
  const std::string why = whyLost(peer);
  if (why.empty()) return {};
  const auto now = std::chrono::steady_clock::now();
  if (wait.lost < 0) {
    wait.lost = peer;
    wait.lossSeen = now;
  }
  if (now - wait.lossSeen < kTimeToEnd) return {};
  return lostBefore(rank_, wait.call, peer, why);
}

void DeviceJudge::askOthers(JudgedWait& wait) const {
  const auto now = std::chrono::steady_clock::now();
  if (now - wait.asked < kBetweenQuestions) return;
  wait.asked = now;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer != rank_) group_->refresh(peer);
  }
}

std::string DeviceJudge::whyLost(int peer) const {
  const Pump::Halt halt(pump_);
  return group_->whyLost(peer);
}

Status DeviceJudge::compareCalls(const CallSignature& call) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    RONDO_RETURN_IF_ERROR(compareCall(rank_, call, peer, group_->record(peer)));
    Status judged = judgePeer(waiting(call), peer, group_->record(peer));
    if (judged.code() == StatusCode::kMismatch) return judged;
  }
  return {};
}

/// A rank that has not made the call yet.
host::Blocked DeviceJudge::firstBehind(const CallSignature& call) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto theirs = group_->record(peer).read();
    const bool behind = !theirs.has_value() || theirs->sequence < call.sequence;
    if (peer != rank_ && behind) return {peer, true};
  }
  return {};
}

Status DeviceJudge::mismatch(const CallSignature& call, int peer, std::uint64_t otherCall) const {
  const Pump::Halt halt(pump_);
  group_->awaitRefreshed(peer, kPatienceForNews);
  return mismatchWith(waiting(call), peer, group_->record(peer), otherCall);
}

}  // namespace rondo::cuda
