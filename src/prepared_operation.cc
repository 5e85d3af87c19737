#include "src/prepared_operation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "collectives/buffers.h"
#include "src/coded_plan.h"

namespace rondo {

namespace {

host::Arithmetic hostArithmetic(const PlanRequest& request, int ranks) {
  host::Arithmetic arithmetic;
  arithmetic.rules = arithmeticOf(request.collective, request.type, request.op, ranks);
  if (arithmetic.rules.reduces) {
    arithmetic.combine =
        request.combiner == Combiner::kBuiltIn
            ? host::combineFunction(request.type, request.op, host::bestSimdTarget())
            : &combineByUser;
  }
  return arithmetic;
}

/// The ends that a schedule's tables name.
struct BoundEnds {
  std::vector<SendEnd*> send;
  std::vector<RecvEnd*> recv;
};

/// @param rankOf the communicator's rank that a peer of the schedule is
template <class RankOf>
Result<BoundEnds> bindEnds(const AnySchedule& schedule,
                           int channel,
                           ConnectionEnds& ends,
                           const RankOf& rankOf) {
  BoundEnds bound;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry) {
    Result<SendEnd*> end = ends.sendEnd(rankOf(schedule.sendPeer(entry)), channel);
    if (!end.ok()) return std::move(end).status();
    bound.send.push_back(*end);
  }
  for (int entry = 0; entry < schedule.recvPeers(); ++entry) {
    Result<RecvEnd*> end = ends.recvEnd(rankOf(schedule.recvPeer(entry)), channel);
    if (!end.ok()) return std::move(end).status();
    bound.recv.push_back(*end);
  }
  return bound;
}

host::CodedOperation codedOperation(const CollectiveCall& call,
                                    const CodedBlocks& blocks,
                                    int rank,
                                    int ranks) {
  const host::SimdTarget target = host::bestSimdTarget();
  const std::size_t ownFirst = static_cast<std::size_t>(rank) * call.count;
  return {
      .coder = {call.compression->codec, target},
      .form = {call.type, target},
      .blocks = &blocks.map(),
      .collective = call.collective,
      .rank = rank,
      .ranks = ranks,
      .inputOrigin = call.collective == Collective::kAllGather ? ownFirst : 0,
      .outputOrigin = call.collective == Collective::kReduceScatter ? ownFirst : 0,
      .divisor = call.op == ReduceOp::kAvg ? static_cast<float>(ranks) : 0.0f,
  };
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
    const AnySchedule schedule(first.algorithm, first.args);
    Result<BoundEnds> bound = bindEnds(schedule, operation.channel(stage), ends, rankOf);
    if (!bound.ok()) return std::move(bound).status();
    lanes[static_cast<std::size_t>(stage)] =
        host::Lane(schedule, std::move(bound->send), std::move(bound->recv),
                   schedule.scratchElems() * elemBytes);
  }
  return host::StagedLanes(std::move(operation), std::move(lanes), elemBytes);
}

}  // namespace

void setBlocks(const CollectiveCall& call, ScheduleArgs& args) {
  const auto layoutOf = [&](const BlockArrays& blocks) {
    return blocks.counts == nullptr ? Layout(call.ownCount) : Layout(blocks.counts, blocks.offsets);
  };
  const BufferExtents buffers = buffersOf(call.collective);
  args.layout = layoutOf(holdsBlocks(buffers.input) ? call.sendBlocks : call.recvBlocks);
  args.outputLayout = layoutOf(call.recvBlocks);
  args.share = {0, call.ownCount};
}

void PreparedOperation::restart() {
  underway = false;
  for (host::Lane& lane : lanes)
    lane.restart();
  for (host::CodedLane& lane : codedLanes)
    lane.restart();
  if (mailboxCall.has_value()) mailboxCall->restart();
  if (stages.has_value()) stages->restart();
}

host::RunOutcome PreparedOperation::run(const host::Work& work, host::Waiter& waiter) {
  if (mailboxCall.has_value()) return host::runMailboxCall(*mailboxCall, work, waiter);
  if (stages.has_value()) return host::runStages(*stages, work, waiter);
  if (blocks != nullptr) return host::runLanes(std::span(codedLanes), work, waiter);
  if (crew == nullptr) return host::runLanes(std::span(lanes), work, waiter);
  const bool begins = !std::exchange(underway, true);
  return crew->run(std::span(lanes), plan.workers, work, waiter, begins);
}

host::Turn PreparedOperation::takeTurn(const host::Work& work) {
  if (stages.has_value()) return stages->takeTurn(work);
  if (blocks != nullptr) return host::takeTurn(std::span(codedLanes), work);
  if (!mailboxCall.has_value()) return host::takeTurn(std::span(lanes), work);
  const bool finished = mailboxCall->tryStep(work) == host::StepResult::kFinished;
  return {.moved = finished, .finished = finished, .mismatched = std::nullopt};
}

host::Blocked PreparedOperation::firstBlocked(const host::Work& work) {
  if (mailboxCall.has_value()) return mailboxCall->blockedOn(work);
  if (stages.has_value()) return stages->firstBlocked(work);
  return blocks != nullptr ? host::firstBlocked(std::span(codedLanes), work)
                           : host::firstBlocked(std::span(lanes), work);
}

void PreparedOperation::withdraw(const std::function<void(int)>& onReader) {
  for (host::Lane& lane : lanes)
    lane.withdraw(onReader);
}

bool PreparedOperation::blockedOn(int peer, const host::Work& work) {
  if (mailboxCall.has_value()) return mailboxCall->blockedOn(work).peer == peer;
  if (stages.has_value()) return stages->blockedOn(peer, work);
  const auto waits = [&](auto& lane) { return lane.blockedOn(work).peer == peer; };
  return std::ranges::any_of(lanes, waits) || std::ranges::any_of(codedLanes, waits);
}

std::size_t PreparedOperation::codedResults() const {
  std::size_t results = 0;
  for (const host::CodedLane& lane : codedLanes)
    results += lane.results();
  return results;
}

host::CodingOutcome PreparedOperation::codingOutcome() const {
  host::CodingOutcome sum;
  for (const host::CodedLane& lane : codedLanes) {
    sum.wireBytes += lane.outcome().wireBytes;
    sum.plainBytes += lane.outcome().plainBytes;
    sum.nonFinite |= lane.outcome().nonFinite;
  }
  return sum;
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
    Result<BoundEnds> bound = bindEnds(schedule, channel, ends.connections, std::identity());
    if (!bound.ok()) return std::move(bound).status();
    operation.lanes.emplace_back(schedule, std::move(bound->send), std::move(bound->recv),
                                 schedule.scratchElems() * operation.arithmetic.rules.elemBytes);
  }
  return operation;
}

Result<PreparedOperation> prepareCodedOperation(const PlanRequest& request,
                                                const PlanFacts& facts,
                                                const PlanSettings& settings,
                                                int rank,
                                                RankEnds ends,
                                                const CollectiveCall& call) {
  auto blocks = std::make_unique<const CodedBlocks>(call, facts.ranks);
  PlanRequest inBlocks = request;
  inBlocks.count = blocks->scheduleCount();
  Result<Plan> plan = makeCodedPlan(request, inBlocks.count, blocks->uniform(), facts, settings);
  if (!plan.ok()) return std::move(plan).status();
  PreparedOperation operation;
  operation.request = request;
  operation.plan = *plan;
  const host::CodedOperation shared = codedOperation(call, *blocks, rank, facts.ranks);
  for (int channel = 0; channel < plan->channels; ++channel) {
    ScheduleArgs args = scheduleArgs(*plan, inBlocks, facts.ranks, rank, channel);
    if (!blocks->uniform()) args.layout = args.outputLayout = blocks->layout();
    const AnySchedule schedule(plan->algorithm, args);
    Result<BoundEnds> bound = bindEnds(schedule, channel, ends.connections, std::identity());
    if (!bound.ok()) return std::move(bound).status();
    operation.codedLanes.emplace_back(shared, schedule, plan->chunkElems, operation.codedResults(),
                                      std::move(bound->send), std::move(bound->recv));
  }
  operation.blocks = std::move(blocks);
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
  const CodedRequest coded = request.coded.value_or(CodedRequest{.blockElems = 0});
  const std::uint64_t more =
      (coded.tensorsHash ^ coded.blockElems << 8 ^ static_cast<std::uint64_t>(coded.codec));
  return static_cast<std::uint32_t>(((word ^ more) * kGoldenRatio) >> 32);
}

}  // namespace rondo
