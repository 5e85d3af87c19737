#include "src/communicator.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/bootstrap/rendezvous_session.h"
#include "src/log.h"
#include "src/process_ranks.h"
#include "src/processors.h"
#include "src/rendezvous_keeper.h"
#include "src/stall.h"
#include "transports/inproc/thread_group.h"

namespace rondo {

namespace {

/// How long a rank may take to call again after its call was rejected, before those who wait for
/// the call give up: enough for a program that mends its arguments, too short for one that ended.
constexpr std::chrono::seconds kTimeToCallAgain{1};

PlanSettings planSettings(const Config& config) {
  return {config.reproducible, config.channels, config.algorithms};
}

/// For a rank that sent what does not fit to say what it is doing: the message is better then.
constexpr std::chrono::milliseconds kPatienceForNews{1000};

/// Yields before a rank sleeps that shares its processor. Of 0, 5, 20, 100 and 1000 the best or
/// next to it for 4 and 8 ranks on 2 processors at 8 bytes, 64 KiB and 1 MiB (docs/performance.md):
/// more take turns from the rank that is waited for, fewer pay for sleeps that nobody needed.
constexpr int kYieldsOfManyRanks = 5;

/// Ranks that share processors must not poll: they would keep away the rank they wait for.
host::WaitPolicy waitPolicy(const PlanFacts& facts) {
  host::WaitPolicy policy;
  if (facts.ranks > facts.cpus) {
    policy.spinPolls = 0;
    policy.yields = kYieldsOfManyRanks;
  }
  return policy;
}

PlanRequest planRequest(const CollectiveCall& call) {
  PlanRequest request;
  request.collective = call.collective;
  request.count = call.count;
  request.type = call.type;
  if (isReduction(call.collective)) request.op = call.op;
  if (hasRoot(call.collective)) request.root = call.root;
  return request;
}

CallSignature signatureOf(const PlanRequest& request, const Plan& plan, std::uint64_t sequence) {
  CallSignature signature;
  signature.sequence = sequence;
  signature.count = request.count;
  signature.geometry = plan.geometryHash();
  signature.root = static_cast<std::uint32_t>(request.root);
  signature.collective = static_cast<std::uint8_t>(request.collective);
  signature.type = static_cast<std::uint8_t>(request.type);
  signature.op = static_cast<std::uint8_t>(request.op);
  return signature;
}

}  // namespace

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::createThreads(
    int ranks, const Config& config) {
  if (ranks < 1) return Status::invalidArgument("ranks is {}: must be at least 1", ranks);
  const PlanFacts facts = planFacts(ranks, usableProcessors(), config);
  auto group = std::make_shared<inproc::ThreadGroup>(ranks, facts.slotBytes, facts.slotCount);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank) {
    communicators.push_back(
        std::unique_ptr<Communicator>(new Communicator(rank, group, std::nullopt, config, facts)));
  }
  RONDO_LOG(kInfo, kCommunicator, LogContext{-1, config.name},
            "created ranks {} as threads cpus {} slots {} of bytes {}", ranks, facts.cpus,
            facts.slotCount, facts.slotBytes);
  return communicators;
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::createOnDevices(
    std::span<const int> devices, const Config& config) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  const auto ranks = static_cast<int>(devices.size());
  const PlanFacts facts = planFacts(ranks, usableProcessors(), config);
  Result<std::shared_ptr<cuda::DeviceTeam>> team =
      cuda::DeviceTeam::make(**driver, devices, {facts.slotBytes, facts.slotCount});
  RONDO_RETURN_IF_ERROR(team.status());
  auto communicators = createThreads(ranks, config);
  RONDO_RETURN_IF_ERROR(communicators.status());
  for (const auto& communicator : *communicators) {
    auto engine = cuda::DeviceEngine::make(communicator->rank_, ranks, *team, communicator->group_,
                                           communicator->config_);
    RONDO_RETURN_IF_ERROR(engine.status());
    communicator->device_ = *std::move(engine);
  }
  RONDO_LOG(kInfo, kCommunicator, (LogContext{-1, config.name}), "{}", (*team)->describe());
  return communicators;
}

Result<std::unique_ptr<Communicator>> Communicator::createRank(const UniqueId& id,
                                                               int rank,
                                                               int ranks,
                                                               const Config& config) {
  const Result<UniqueIdContent> content = readUniqueId(id);
  if (!content.ok()) return content.status();
  Result<std::unique_ptr<RendezvousSession>> session =
      RendezvousSession::open(id, rank, ranks, rendezvousSettings(config));
  if (!session.ok()) return std::move(session).status();
  return createRank(**session, content->secret, rank, ranks, config);
}

Result<std::unique_ptr<Communicator>> Communicator::createRank(
    Exchange& exchange, const SecretKey& key, int rank, int ranks, const Config& config) {
  const PlanFacts own = planFacts(ranks, usableProcessors(), config);
  Result<JoinedRanks> joined = joinProcessRanks(exchange, key, rank, own, config);
  if (!joined.ok()) return std::move(joined).status();
  RONDO_LOG(kInfo, kCommunicator, (LogContext{rank, config.name}),
            "joined {} ranks as processes: {}; cpus {} slots {} of bytes {}", ranks,
            joined->group->describe(), joined->facts.cpus, joined->facts.slotCount,
            joined->facts.slotBytes);
  return std::unique_ptr<Communicator>(
      new Communicator(rank, std::move(joined->group), key, config, joined->facts));
}

Communicator::Communicator(int rank,
                           std::shared_ptr<RankGroup> group,
                           std::optional<SecretKey> key,
                           const Config& config,
                           const PlanFacts& facts)
    : rank_(rank),
      group_(std::move(group)),
      key_(std::move(key)),
      config_(config),
      facts_(facts),
      settings_(planSettings(config)),
      waitPolicy_(waitPolicy(facts)),
      ends_(rank, group_) {}

Communicator::~Communicator() {
  if (!finalized_) leave();
}

void Communicator::leave() {
  if (device_ != nullptr) device_->finish(Deadline::within(config_.operationTimeout));
  group_->leave(rank_);
}

Result<std::string_view> Communicator::transportTo(int peer) const {
  if (peer < 0 || peer >= ranks()) {
    return Status::invalidArgument("rank {}: peer {} is no rank of communicator {}: 0 to {}", rank_,
                                   peer, config_.name, ranks() - 1);
  }
  if (peer == rank_) return std::string_view("self");
  if (onDevice()) return std::string_view("cuda_ipc");
  return group_->transportTo(peer);
}

Status Communicator::finalize() {
  const std::scoped_lock lock(turn_);
  if (std::exchange(finalized_, true)) return finalizedAlready();
  leave();
  return group_->failure();
}

Status Communicator::finalizedAlready() const {
  return Status::invalidUsage("rank {}: communicator {} was finalized; only destroy it", rank_,
                              config_.name);
}

void Communicator::abort() {
  (void)failAll(Status::aborted("communicator {} was aborted by rank {}", config_.name, rank_));
}

Status Communicator::failAll(const Status& failure) {
  group_->fail(failure);
  Status first = group_->failure();
  return first.ok() ? failure : first;
}

Status Communicator::run(const CollectiveCall& call, rondoStream_t stream) try {
  const std::scoped_lock lock(turn_);
  if (finalized_) return finalizedAlready();
  if (host::flagRaised(group_->failedFlag())) return group_->failure();
  return device_ != nullptr ? runOnDevice(call, stream) : runOnHost(call);

} catch (const std::bad_alloc&) {  // while planning: nothing else allocates

  return failAll(Status::outOfMemory("rank {}: no memory for planning {}", rank_,
                                     collectiveName(call.collective)));
}

Status Communicator::runOnHost(const CollectiveCall& call) {
  Result<PreparedOperation*> operation = prepare(call);
  if (!operation.ok()) return failOrReject(operation.status());
  return execute(**operation, call);
}

Status Communicator::runOnDevice(const CollectiveCall& call, rondoStream_t stream) {
  const PlanRequest request = planRequest(call);
  const Status checked = device_->check(call, request, stream);
  if (!checked.ok()) return failOrReject(checked);
  Plan plan;
  if (const Plan* known = device_->plannedBefore(request)) {
    plan = *known;
  } else {
    const Result<Plan> made = makePlan(request, facts_, settings_);
    if (!made.ok()) return failOrReject(made.status());
    plan = *made;
    plan.protocol = cuda::chooseProtocol(request, ranks(), config_.cudaProtocol);
  }
  beginCall(request, plan);
  const Status queued = device_->run(call, request, plan, current_, stream);
  return queued.ok() ? queued : failAll(queued);
}

Status Communicator::failOrReject(const Status& failure) {
  if (!losesOnlyTheCall(failure.code())) return failAll(failure);
  noteRejection(failure);
  return failure;
}

Status Communicator::reject(const Status& reason) {
  // While another thread's call runs, this one has no number yet, and nobody waits for it.
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (turn.owns_lock()) noteRejection(reason);
  return reason;
}

void Communicator::noteRejection(const Status& reason) {
  group_->record(rank_).reject(current_.sequence + 1, reason.message());
}

Result<PreparedOperation*> Communicator::prepare(const CollectiveCall& call) {
  const PlanRequest request = planRequest(call);
  if (PreparedOperation* operation = prepared_.find(request)) return operation;
  Result<PreparedOperation> operation = prepareOperation(request, facts_, settings_, rank_, ends_);
  RONDO_RETURN_IF_ERROR(operation.status());
  RONDO_LOG(kDebug, kPlanner, LogContext{rank_, config_.name},
            "{} type {} count {} uses {} channels {} chunk elements {}",
            collectiveName(request.collective), dataTypeName(request.type), request.count,
            algorithmInfo(operation->plan.algorithm).name, operation->plan.channels,
            operation->plan.chunkElems);
  return prepared_.keep(*std::move(operation));
}

void Communicator::beginCall(const PlanRequest& request, const Plan& plan) {
  const std::uint64_t before = current_.fingerprint();
  current_ = signatureOf(request, plan, current_.sequence + 1);
  // Calls on devices run ahead of their completion, so that a difference may be looked for when the
  // records have moved on: each call is made to depend on all before it.
  if (onDevice()) current_.geometry ^= before;
  group_->record(rank_).begin(current_);
}

Status Communicator::execute(PreparedOperation& operation, const CollectiveCall& call) {
  beginCall(operation.request, operation.plan);
  for (host::Lane& lane : operation.lanes)
    lane.restart();
  host::Work work;
  work.buffers.input = static_cast<const std::byte*>(call.send);
  work.buffers.output = static_cast<std::byte*>(call.recv);
  work.arithmetic = operation.arithmetic;
  work.arithmetic.scale = call.scale;
  work.call = current_.fingerprint();
  Status status = superviseRun(operation, work);
  if (status.ok()) group_->record(rank_).finish(current_.sequence);
  return status;
}

Status Communicator::superviseRun(PreparedOperation& operation, const host::Work& work) {
  host::Waiter waiter(waitPolicy_, group_->failedFlag(), group_->waitPlace(rank_));
  Watch watch;
  for (;;) {
    const host::RunOutcome outcome = host::runLanes(operation.lanes, work, waiter);
    switch (outcome.result) {
      case host::RunResult::kDone:
        return {};
      case host::RunResult::kAborted:
        return group_->failure();
      case host::RunResult::kMismatch:
        group_->awaitRefreshed(outcome.blocked.peer, kPatienceForNews);
        return failAll(mismatchWith(waiting(), outcome.blocked.peer,
                                    group_->record(outcome.blocked.peer),
                                    outcome.blocked.otherCall));
      case host::RunResult::kStalled:
        RONDO_RETURN_IF_ERROR(checkPeer(operation, work, outcome.blocked.peer, watch));
        RONDO_RETURN_IF_ERROR(checkStall(outcome, waiter, watch));
    }
  }
}

Status Communicator::checkPeer(PreparedOperation& operation,
                               const host::Work& work,
                               int peer,
                               Watch& watch) {
  if (peer < 0) return {};  // it has moved on meanwhile
  const CallRecord& record = group_->record(peer);
  const Status judged = judgePeer(waiting(), peer, record);
  if (!judged.ok()) return failAll(judged);
  group_->refresh(peer);
  const bool finished = record.finished() >= current_.sequence && !group_->mayBeOnItsWay(peer);
  if (!finished && group_->whyLost(peer).empty()) return checkRejection(peer, record, watch);
  // Whatever the peer did in this call has come by now, so what is missing will never come.
  group_->waitPlace(rank_).progress();
  const std::string whyLost = group_->whyLost(peer);
  if (!finished && whyLost.empty()) return {};  // it had just connected
  const bool stillBlocked = std::ranges::any_of(
      operation.lanes, [&](host::Lane& lane) { return lane.blockedOn(work).peer == peer; });
  if (!stillBlocked) return {};
  return failAll(finished ? finishedWithout(waiting(), peer, record)
                          : lostBefore(rank_, current_, peer, whyLost));
}

Status Communicator::checkRejection(int peer, const CallRecord& record, Watch& watch) {
  const std::optional<CallRecord::Rejection> rejection = rejectionOf(current_, record);
  const auto now = host::Waiter::Clock::now();
  if (!rejection.has_value() || watch.rejecting != peer) {
    watch.rejecting = rejection.has_value() ? peer : -1;
    watch.rejectionSeen = now;
    return {};
  }
  if (now - watch.rejectionSeen < kTimeToCallAgain) return {};
  return failAll(rejectedBy(waiting(), peer, *rejection));
}

std::string Communicator::describeWait(const host::RunOutcome& outcome) {
  if (outcome.flushing) return fmt::format("{} to read what was sent", group_->describeUnsent());
  return describePeer(current_, outcome.blocked, group_->record(outcome.blocked.peer));
}

Status Communicator::checkStall(const host::RunOutcome& outcome,
                                const host::Waiter& waiter,
                                Watch& watch) {
  if (outcome.blocked.peer < 0 && !outcome.flushing) return {};  // it has moved on meanwhile
  const std::chrono::milliseconds waited = waiter.waited();
  const auto due = [waited](std::chrono::milliseconds limit) {
    return limit.count() > 0 && waited >= limit;
  };
  if (due(config_.operationTimeout)) {
    return failAll(Status::timeout("rank {}: {} waited {} ms for {}", rank_, describeCall(current_),
                                   waited.count(), describeWait(outcome)));
  }
  if (due(config_.warningAfter) && !std::exchange(watch.warned, true)) {
    RONDO_LOG(kWarn, kExecutor, LogContext{rank_, config_.name}, "{} waits {} ms for {}",
              describeCall(current_), waited.count(), describeWait(outcome));
  }
  return {};
}

}  // namespace rondo
