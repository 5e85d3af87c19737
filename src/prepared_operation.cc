#include "src/prepared_operation.h"

#include <algorithm>
#include <functional>
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

/// @param rankOf the communicator's rank that a peer of the schedule is
template <class RankOf>
Result<host::Lane> bindLane(const AnySchedule& schedule,
                            int channel,
                            std::size_t elemBytes,
                            ConnectionEnds& ends,
                            const RankOf& rankOf) {
  std::vector<SendEnd*> send;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry) {
    Result<SendEnd*> end = ends.sendEnd(rankOf(schedule.sendPeer(entry)), channel);
    if (!end.ok()) return std::move(end).status();
    send.push_back(*end);
  }
  std::vector<RecvEnd*> recv;
  for (int entry = 0; entry < schedule.recvPeers(); ++entry) {
    Result<RecvEnd*> end = ends.recvEnd(rankOf(schedule.recvPeer(entry)), channel);
    if (!end.ok()) return std::move(end).status();
    recv.push_back(*end);
  }
  return host::Lane(schedule, std::move(send), std::move(recv),
                    schedule.scratchElems() * elemBytes);
}

/// A lane for each stage that this rank has a part in, bound to the connections of its members.
Result<host::StagedLanes> bindStages(TwoLevel operation,
                                     std::size_t elemBytes,
                                     ConnectionEnds& ends) {
  host::StagedLanes::Lanes lanes;
  for (int stage = 0; stage < operation.stages(); ++stage) {
    if (operation.runs(stage) == 0) continue;
    const StageRun first = operation.run(stage, 0);
    const auto rankOf = [&](int member) {
      return operation.members(stage)[static_cast<std::size_t>(member)];
    };
    Result<host::Lane> lane = bindLane(AnySchedule(first.algorithm, first.args),
                                       operation.channel(stage), elemBytes, ends, rankOf);
    if (!lane.ok()) return std::move(lane).status();
    lanes[static_cast<std::size_t>(stage)] = *std::move(lane);
  }
  return host::StagedLanes(std::move(operation), std::move(lanes), elemBytes);
}

}  // namespace

void PreparedOperation::restart() {
  for (host::Lane& lane : lanes)
    lane.restart();
  if (mailboxCall.has_value()) mailboxCall->restart();
  if (stages.has_value()) stages->restart();
}

host::RunOutcome PreparedOperation::run(const host::Work& work, host::Waiter& waiter) {
  if (mailboxCall.has_value()) return host::runMailboxCall(*mailboxCall, work, waiter);
  return stages.has_value() ? host::runStages(*stages, work, waiter)
                            : host::runLanes(lanes, work, waiter);
}

host::Turn PreparedOperation::takeTurn(const host::Work& work) {
  if (stages.has_value()) return stages->takeTurn(work);
  if (!mailboxCall.has_value()) return host::takeTurn(lanes, work);
  const bool finished = mailboxCall->tryStep(work) == host::StepResult::kFinished;
  return {.moved = finished, .finished = finished};
}

host::Blocked PreparedOperation::firstBlocked(const host::Work& work) {
  if (mailboxCall.has_value()) return mailboxCall->blockedOn(work);
  return stages.has_value() ? stages->firstBlocked(work) : host::firstBlocked(lanes, work);
}

void PreparedOperation::withdraw(const std::function<void(int)>& onReader) {
  for (host::Lane& lane : lanes)
    lane.withdraw(onReader);
}

bool PreparedOperation::blockedOn(int peer, const host::Work& work) {
  if (mailboxCall.has_value()) return mailboxCall->blockedOn(work).peer == peer;
  if (stages.has_value()) return stages->blockedOn(peer, work);
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
  if (isTwoLevel(plan->algorithm)) {
    Result<host::StagedLanes> stages =
        bindStages(twoLevelOf(*plan, request, facts, rank), operation.arithmetic.rules.elemBytes,
                   ends.connections);
    if (!stages.ok()) return std::move(stages).status();
    operation.stages = *std::move(stages);
    return operation;
  }
  for (int channel = 0; channel < plan->channels; ++channel) {
    ScheduleArgs args = scheduleArgs(*plan, request, facts.ranks, rank, channel);
    if (varied != nullptr) setBlocks(*varied, args);
    const AnySchedule schedule(plan->algorithm, args);
    Result<host::Lane> lane = bindLane(schedule, channel, operation.arithmetic.rules.elemBytes,
                                       ends.connections, std::identity());
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
