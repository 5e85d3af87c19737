#include "src/cuda/device_messages.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "kernels/memory_order.h"
#include "src/cuda/patience.h"
#include "src/message_stall.h"
#include "src/stall.h"

namespace rondo::cuda {

namespace {

using Clock = std::chrono::steady_clock;

std::span<device::Report> reportsOf(const MessageTables& tables) {
  return {tables.reports.onHost<device::Report>(), static_cast<std::size_t>(tables.lanes)};
}

}  // namespace

std::vector<host::MessageLane::Wait> DeviceMessages::waits() const {
  std::vector<host::MessageLane::Wait> waits;
  for (device::Report& report : reportsOf(tables_)) {
    const std::int32_t found =
        device::Report::waitingFor(host::observeCounter(report.waits), number_);
    if (found == 0) continue;
    const auto message = static_cast<std::size_t>(std::abs(found) - 1);
    if (message < list_.calls().size())
      waits.push_back({{list_.calls()[message].peer, found > 0}, message});
  }
  return waits;
}

bool DeviceMessages::failed() const {
  for (device::Report& report : reportsOf(tables_)) {
    if (host::observeCounter(report.state) != device::Report::kNoFailure) return true;
  }
  return false;
}

std::optional<host::MessageLane::Wait> DeviceMessages::mismatch() const {
  for (device::Report& report : reportsOf(tables_)) {
    if (host::observeCounter(report.state) != device::Report::kMismatch) continue;
    const auto message = static_cast<std::size_t>(report.peer);
    return host::MessageLane::Wait{{list_.calls()[message].peer, true, report.otherCall}, message};
  }
  return std::nullopt;
}

MessageJudge::MessageJudge(int rank,
                           std::shared_ptr<RankGroup> group,
                           Pump& pump,
                           const Config& config)
    : rank_(rank), group_(std::move(group)), pump_(pump), config_(config) {}

Status MessageJudge::judge(JudgedWait& judged, const DeviceMessages& messages) const {
  if (host::flagRaised(group_->failedFlag())) return group_->failure();
  const auto now = Clock::now();
  const auto waits = messages.waits();
  // Until its kernel says that it waits, it may be the stream's earlier work that takes its time.
  if (waits.empty()) {
    judged.since = now;
    return {};
  }
  const bool asks = now - judged.asked >= kBetweenQuestions;
  if (asks) judged.asked = now;
  for (JudgedWait::Suspect* suspect : {&judged.gone, &judged.refusing}) {
    const bool waited = std::ranges::any_of(
        waits, [&](const auto& wait) { return wait.blocked.peer == suspect->peer; });
    if (!waited) *suspect = {};
  }
  for (const host::MessageLane::Wait& wait : waits) {
    if (asks) group_->refresh(wait.blocked.peer);
    RONDO_RETURN_IF_ERROR(judgePeer(judged, messages.list(), wait));
  }
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - judged.since);
  const auto text = [&] {
    return describeMessageWait(messages.list(), waits.front(),
                               group_->record(waits.front().blocked.peer), {});
  };
  if (isDue(config_.operationTimeout, waited)) return messagesWaitedTooLong(rank_, waited, text());
  if (isDue(config_.warningAfter, waited) && !std::exchange(judged.warned, true))
    warnOfMessageWait(rank_, config_.name, waited, text());
  return {};
}

/// Whether what is waited for can still come from the peer, or be taken by it. What it has done
/// before it left is in this rank's slots after a while, and enough for the kernel to end, or not.
Status MessageJudge::judgePeer(JudgedWait& judged,
                               const MessageList& list,
                               const host::MessageLane::Wait& wait) const {
  const int peer = wait.blocked.peer;
  const auto now = Clock::now();
  const auto lasts = [&](bool holds, JudgedWait::Suspect& suspect, auto atMost) {
    if (holds && suspect.peer < 0) suspect = {peer, now};
    if (!holds && suspect.peer == peer) suspect = {};
    return holds && suspect.peer == peer && now - suspect.seen >= atMost;
  };
  const CallRecord& record = group_->record(peer);
  const std::string why = whyLost(peer);
  if (lasts(record.hasLeft() || !why.empty(), judged.gone, kTimeToEnd))
    return messagePeerLost(rank_, list, wait, why);
  const auto refused = record.rejectionOfMessages(rank_);
  if (lasts(refused.has_value(), judged.refusing, kTimeToCallAgain))
    return messageRejected(rank_, list, wait, *refused);
  return {};
}

std::string MessageJudge::whyLost(int peer) const {
  const Pump::Halt halt(pump_);
  return group_->whyLost(peer);
}

}  // namespace rondo::cuda
