#include "src/prepared_operation.h"

#include <algorithm>
#include <utility>

#include "collectives/buffers.h"

namespace rondo {

namespace {

host::Arithmetic hostArithmetic(const PlanRequest& request, int ranks) {
  host::Arithmetic arithmetic;
  arithmetic.rules = arithmeticOf(request.collective, request.type, request.op, ranks);
  if (arithmetic.rules.reduces) {
    arithmetic.combine = host::combineFunction(request.type, request.op, host::bestSimdTarget());
  }
  return arithmetic;
}

/// Where the blocks of `call` are, in place of blocks of one size.
void setBlocks(const CollectiveCall& call, ScheduleArgs& args) {
  const auto layoutOf = [&](const BlockArrays& blocks) {
    return blocks.counts == nullptr ? Layout(call.ownCount) : Layout(blocks.counts, blocks.offsets);
  };
  const BufferExtents buffers = buffersOf(call.collective);
  args.layout = layoutOf(holdsBlocks(buffers.input) ? call.sendBlocks : call.recvBlocks);
  args.outputLayout = layoutOf(call.recvBlocks);
  args.share = {0, call.ownCount};
}

Result<host::Lane> bindLane(const AnySchedule& schedule,
                            int channel,
                            std::size_t elemBytes,
                            ConnectionEnds& ends) {
  std::vector<SendEnd*> send;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry) {
    Result<SendEnd*> end = ends.sendEnd(schedule.sendPeer(entry), channel);
    if (!end.ok()) return std::move(end).status();
    send.push_back(*end);
  }
  std::vector<RecvEnd*> recv;
  for (int entry = 0; entry < schedule.recvPeers(); ++entry) {
    Result<RecvEnd*> end = ends.recvEnd(schedule.recvPeer(entry), channel);
    if (!end.ok()) return std::move(end).status();
    recv.push_back(*end);
  }
  return host::Lane(schedule, std::move(send), std::move(recv),
                    schedule.scratchElems() * elemBytes);
}

}  // namespace

void PreparedOperation::restart() {
  for (host::Lane& lane : lanes)
    lane.restart();
  if (mailboxCall.has_value()) mailboxCall->restart();
}

host::RunOutcome PreparedOperation::run(const host::Work& work, host::Waiter& waiter) {
  return mailboxCall.has_value() ? host::runMailboxCall(*mailboxCall, work, waiter)
                                 : host::runLanes(lanes, work, waiter);
}

host::Turn PreparedOperation::takeTurn(const host::Work& work) {
  if (!mailboxCall.has_value()) return host::takeTurn(lanes, work);
  const bool finished = mailboxCall->tryStep(work) == host::StepResult::kFinished;
  return {.moved = finished, .finished = finished};
}

host::Blocked PreparedOperation::firstBlocked(const host::Work& work) {
  return mailboxCall.has_value() ? mailboxCall->blockedOn(work) : host::firstBlocked(lanes, work);
}

void PreparedOperation::withdraw(const std::function<void(int)>& onReader) {
  for (host::Lane& lane : lanes)
    lane.withdraw(onReader);
}

bool PreparedOperation::blockedOn(int peer, const host::Work& work) {
  if (mailboxCall.has_value()) return mailboxCall->blockedOn(work).peer == peer;
  return std::ranges::any_of(lanes,
                             [&](host::Lane& lane) { return lane.blockedOn(work).peer == peer; });
}

Result<PreparedOperation> prepareOperation(const PlanRequest& request,
                                           const PlanFacts& facts,
                                           const PlanSettings& settings,
                                           int rank,
                                           RankEnds ends,
                                           const CollectiveCall* varied) {
  Result<Plan> plan = makePlan(request, facts, settings);
  if (!plan.ok()) return std::move(plan).status();
  PreparedOperation operation;
  operation.request = request;
  operation.plan = *plan;
  operation.arithmetic = hostArithmetic(request, facts.ranks);
  if (plan->throughMailboxes) {
    operation.mailboxCall.emplace(
        *ends.mailboxes,
        host::mailboxRole(request.collective, rank, facts.ranks, request.root, request.count));
    return operation;
  }
  for (int channel = 0; channel < plan->channels; ++channel) {
    ScheduleArgs args = scheduleArgs(*plan, request, facts.ranks, rank, channel);
    if (varied != nullptr) setBlocks(*varied, args);
    const AnySchedule schedule(plan->algorithm, args);
    Result<host::Lane> lane =
        bindLane(schedule, channel, operation.arithmetic.rules.elemBytes, ends.connections);
    if (!lane.ok()) return std::move(lane).status();
    operation.lanes.push_back(*std::move(lane));
  }
  return operation;
}

std::uint32_t requestHash(const PlanRequest& request) {
  // Knuth's multiplicative hash (TAOCP 3, 6.4): the golden ratio in 64 bits.
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t kind = static_cast<std::uint64_t>(request.collective) << 16 |
                             static_cast<std::uint64_t>(request.type) << 8 |
                             static_cast<std::uint64_t>(request.op);
  const std::uint64_t word =
      (request.count * kGoldenRatio) ^ (kind << 32 | static_cast<std::uint32_t>(request.root));
  return static_cast<std::uint32_t>((word * kGoldenRatio) >> 32);
}

}  // namespace rondo
