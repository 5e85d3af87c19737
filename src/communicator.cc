#include "src/communicator.h"

#include <algorithm>
#include <array>
#include <new>
#include <thread>
#include <utility>

#include "collectives/buffers.h"
#include "src/bootstrap/rendezvous_session.h"
#include "src/coded_plan.h"
#include "src/log.h"
#include "src/process_ranks.h"
#include "src/processors.h"
#include "src/rank_info.h"
#include "src/rendezvous_keeper.h"
#include "src/stall.h"
#include "src/worker_cores.h"
#include "transports/inproc/thread_group.h"

namespace rondo {

namespace {

/// For what the library itself sends between ranks on devices, by the host: one channel is theirs.
PlanSettings hostSettings(PlanSettings settings) {
  settings.channels = 1;
  return settings;
}

/// Yields before a rank sleeps that shares its processor. Of 0, 5, 20, 100 and 1000 the best or
/// next to it for 4 and 8 ranks on 2 processors at 8 bytes, 64 KiB and 1 MiB (docs/performance.md):
/// more take turns from the rank that is waited for, fewer pay for sleeps that nobody needed.
constexpr int kYieldsOfManyRanks = 5;

/// A peer that reads a buffer is copying one slot's worth: milliseconds, if it has a processor.
constexpr std::chrono::seconds kTimeToFinishReading{10};

/// An all-gather of bytes.
CollectiveCall gatherCall(std::span<const std::byte> own, std::span<std::byte> all) {
  CollectiveCall call;
  call.collective = Collective::kAllGather;
  call.send = own.data();
  call.recv = all.data();
  call.count = own.size();
  return call;
}

/// What launches on a CUDA device for one rank alone.
Result<std::shared_ptr<cuda::SharedLaunch>> openDevice(int rank, int ordinal) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  Result<std::shared_ptr<const cuda::Device>> device = cuda::Device::open(**driver, ordinal);
  RONDO_RETURN_IF_ERROR(device.status());
  Result<std::unique_ptr<cuda::SharedLaunch>> launches =
      cuda::SharedLaunch::make(*std::move(device), {rank});
  RONDO_RETURN_IF_ERROR(launches.status());
  return std::shared_ptr<cuda::SharedLaunch>(*std::move(launches));
}

/// Ranks that share processors must not poll: they would keep away the rank they wait for.
/// @param workers of each rank
host::WaitPolicy waitPolicy(const PlanFacts& facts, int workers) {
  host::WaitPolicy policy;
  if (facts.ranks * workers > facts.cpus) {
    policy.spinPolls = 0;
    policy.yields = kYieldsOfManyRanks;
  }
  return policy;
}

/// What is true of ranks that all share the host's memory, if they do: others have no mailboxes,
/// and no workers, since data on wires is moved by the thread that waits.
PlanFacts withMailboxes(PlanFacts facts, bool allShareMemory, std::size_t bytes) {
  facts.mailboxBytes = allShareMemory ? bytes : 0;
  if (!allShareMemory) facts.workers = 1;
  return facts;
}

/// Whether output and input of the call share no memory.
bool buffersAreApart(const CollectiveCall& call, const RankPlace& place) {
  if (call.varied) return false;  // or it is not known here
  const std::size_t blockBytes = call.count * elementBytes(call.type);
  const auto output = reinterpret_cast<std::uintptr_t>(call.recv);
  const auto input = reinterpret_cast<std::uintptr_t>(call.send);
  return input + blockBytes * inputBlocks(call.collective, place) <= output ||
         output + blockBytes * outputBlocks(call.collective, place) <= input;
}

/// Kernels run one schedule from end to end: nothing in several stages.
PlanFacts withoutHosts(PlanFacts facts) {
  facts.hosts = nullptr;
  facts.workers = 1;
  return facts;
}

/// Whether payloads are better read where they are than in copies. Not where results are stored
/// over them right after: a store to a line that another processor has read takes several times as
/// long (kernels/host/store_choice.h), and a copy is stored past the caches.
bool gainsByZeroCopy(Collective collective, bool apart) {
  return apart || !isReduction(collective);
}

/// Whether the result is stored past the caches: where it is too large to be found in one after the
/// call, and not in one already as the input.
bool streamsOutput(const CollectiveCall& call, const RankPlace& place, host::StorePolicy policy) {
  constexpr std::size_t kFewestBytes = std::size_t{4} << 20;
  const std::size_t bytes =
      call.count * elementBytes(call.type) * outputBlocks(call.collective, place);
  const bool large = bytes >= kFewestBytes || policy == host::StorePolicy::kStreamed;
  return large && policy != host::StorePolicy::kPlain && buffersAreApart(call, place);
}

PlanRequest planRequest(const CollectiveCall& call) {
  PlanRequest request;
  request.collective = call.collective;
  request.count = call.count;
  request.type = call.type;
  request.pairs = call.pairs;
  if (isReduction(call.collective)) {
    request.op = call.op;
    request.combiner = call.combiner;
  }
  if (hasRoot(call.collective)) request.root = call.root;
  request.varied = call.varied;
  request.countsHash = call.countsHash;
  if (call.compression.has_value()) {
    const Compression& compression = *call.compression;
    request.coded = {compression.codec, compression.blockElems, compression.tensorsHash};
  }
  return request;
}

CallSignature signatureOf(const PlanRequest& request, const Plan& plan, std::uint64_t sequence) {
  CallSignature signature;
  signature.sequence = sequence;
  signature.count = request.count;
  signature.geometry = plan.geometryHash() ^ request.countsHash;
  signature.root = static_cast<std::uint32_t>(request.root);
  signature.collective = static_cast<std::uint8_t>(request.collective);
  signature.type = static_cast<std::uint8_t>(request.type);
  signature.op = signatureOp(request.op, request.combiner);
  signature.shape = static_cast<std::uint8_t>((request.varied ? CallSignature::kVaried : 0) |
                                              (request.pairs ? CallSignature::kPairs : 0));
  if (request.coded.has_value()) {
    static_assert(kCodecCount <= CallSignature::kMostCodec);
    signature.codec = static_cast<std::uint8_t>(1 + static_cast<int>(request.coded->codec));
    signature.geometry ^= request.coded->tensorsHash ^ request.coded->blockElems << 40 ^
                          static_cast<std::uint64_t>(request.coded->feedback) << 39;
  }
  return signature;
}

}  // namespace

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::createThreads(
    int ranks, const Config& config) {
  return createInProcess(ranks, config, {});
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::createInProcess(
    int ranks, const Config& config, const cuda::LaunchGroups& launches) {
  if (ranks < 1) return Status::invalidArgument("ranks is {}: must be at least 1", ranks);
  const PlanFacts facts = factsOfThreads(ranks, config);
  auto group = std::make_shared<inproc::ThreadGroup>(ranks, facts.slotBytes, facts.slotCount);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool onHost = launches.empty();
    communicators.push_back(std::unique_ptr<Communicator>(
        new Communicator(rank, group, std::nullopt, config, facts, !onHost)));
    if (onHost) continue;
    RONDO_RETURN_IF_ERROR(
        communicators.back()->startDevice(launches[static_cast<std::size_t>(rank)]));
  }
  if (!launches.empty()) meetOnDevices(communicators);
  RONDO_LOG(kInfo, kCommunicator, LogContext{-1, config.name},
            "created ranks {} as threads cpus {} slots {} of bytes {}", ranks, facts.cpus,
            facts.slotCount, facts.slotBytes);
  return communicators;
}

/// By one thread for all ranks, so that two which have their first messages need nobody else.
void Communicator::meetOnDevices(std::span<const std::unique_ptr<Communicator>> communicators) {
  std::vector<cuda::DeviceRank> ranks;
  for (const auto& communicator : communicators)
    ranks.push_back(communicator->device_->links().self());
  const cuda::DeviceWays ways = cuda::DeviceWays::findOut(ranks);
  for (const auto& communicator : communicators)
    communicator->device_->links().meet(ways);
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::createOnDevices(
    std::span<const int> devices, const Config& config) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  const Result<cuda::LaunchGroups> launches = cuda::makeLaunchGroups(**driver, devices);
  RONDO_RETURN_IF_ERROR(launches.status());
  auto communicators = createInProcess(static_cast<int>(devices.size()), config, *launches);
  RONDO_RETURN_IF_ERROR(communicators.status());
  RONDO_LOG(kInfo, kCommunicator, (LogContext{-1, config.name}), "{}",
            cuda::describeLaunchGroups(*launches));
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
  // A device that cannot be had is known before others wait for this rank.
  std::shared_ptr<cuda::SharedLaunch> launches;
  if (config.device.has_value()) {
    Result<std::shared_ptr<cuda::SharedLaunch>> opened = openDevice(rank, *config.device);
    RONDO_RETURN_IF_ERROR(opened.status());
    launches = *std::move(opened);
  }
  const PlanFacts own = planFacts(ranks, usableProcessors(), config);
  Result<JoinedRanks> joined = joinProcessRanks(exchange, key, rank, own, config);
  if (!joined.ok()) return std::move(joined).status();
  RONDO_LOG(kInfo, kCommunicator, (LogContext{rank, config.name}),
            "joined {} ranks as processes: {}; cpus {} slots {} of bytes {}{}", ranks,
            joined->group->describe(), joined->facts.cpus, joined->facts.slotCount,
            joined->facts.slotBytes,
            launches == nullptr ? "" : fmt::format(" on {}", launches->device()->name()));
  std::unique_ptr<Communicator> communicator(new Communicator(
      rank, std::move(joined->group), key, config, joined->facts, launches != nullptr));
  if (launches == nullptr) return communicator;
  RONDO_RETURN_IF_ERROR(communicator->startDevice(std::move(launches)));
  cuda::DeviceLinks& links = communicator->device_->links();
  RONDO_RETURN_IF_ERROR(links.meet(gatherBy(exchange)));
  for (const int other : links.openedBy())
    RONDO_RETURN_IF_ERROR(communicator->group_->keepInTouch(other));
  RONDO_LOG(kInfo, kCommunicator, (LogContext{rank, config.name}), "{}", links.describe());
  return communicator;
}

Communicator::Communicator(int rank,
                           std::shared_ptr<RankGroup> group,
                           std::optional<SecretKey> key,
                           const Config& config,
                           const PlanFacts& facts,
                           bool onDevice)
    : rank_(rank),
      group_(std::move(group)),
      key_(std::move(key)),
      config_(config),
      mailboxes_(onDevice ? nullptr : makeMailboxEnds(*group_, rank, facts.ranks)),
      mostWorkers_(facts.workers),
      facts_(withMailboxes(facts, mailboxes_ != nullptr, config.mailboxBytes)),
      deviceFacts_(withoutHosts(facts_)),
      settings_(PlanSettings::of(config)),
      waitPolicy_(waitPolicy(facts, 1)),
      crewPolicy_(waitPolicy(facts, facts.workers)),
      order_(std::make_shared<OperationOrder>(group_->failedFlag())),
      ends_(rank, group_, config.stores, onDevice ? kHostChannel : 0),
      messageEnds_(rank, group_, config.stores, kMessageChannel),
      messages_(facts.ranks),
      registrations_(fmt::format("rank {} of communicator {}", rank, config.name)) {}

Status Communicator::startDevice(std::shared_ptr<cuda::SharedLaunch> launches) {
  cuda::DeviceRank self;
  self.rank = rank_;
  self.ranks = ranks();
  self.device = launches->device();
  self.hostIdentity = hostIdentity(config_.meeting.hostId);
  // Ranks that are threads by construction have no transports to fall back to.
  self.directAllowed = !key_.has_value() || config_.allowsTransport("cuda_ipc");
  self.acrossProcesses = key_.has_value();
  self.communicator = config_.name;
  auto engine = cuda::DeviceEngine::make(self, std::move(launches), group_,
                                         {facts_.slotBytes, facts_.slotCount}, config_);
  RONDO_RETURN_IF_ERROR(engine.status());
  device_ = *std::move(engine);
  return {};
}

Communicator::~Communicator() {
  order_->close(Status::aborted("communicator {} was destroyed by rank {} after it had failed",
                                config_.name, rank_));
  if (!finalized_) leave();
}

void Communicator::leave() {
  if (device_ != nullptr) device_->finish(Deadline::within(config_.operationTimeout));
  group_->leave(rank_);
}

std::optional<int> Communicator::device() const {
  if (device_ == nullptr) return std::nullopt;
  return device_->device().ordinal();
}

Result<std::string_view> Communicator::transportTo(int peer) const {
  if (peer < 0 || peer >= ranks()) {
    return Status::invalidArgument("rank {}: peer {} is no rank of communicator {}: 0 to {}", rank_,
                                   peer, config_.name, ranks() - 1);
  }
  if (peer == rank_) return std::string_view("self");
  if (onDevice() && !device_->links().overWireTo(peer)) return std::string_view("cuda_ipc");
  return group_->transportTo(peer);
}

Result<std::uint64_t> Communicator::registerMemory(const void* buffer, std::size_t bytes) {
  if (device_ != nullptr) {
    if (buffer != nullptr) RONDO_RETURN_IF_ERROR(device_->checkBuffer("buffer", buffer));
    const auto added = registrations_.add(buffer, bytes);
    RONDO_RETURN_IF_ERROR(added.status());
    return added->handle;
  }
  const OperationOrder::Turn turn = order_->waitTurn();
  const auto added = registrations_.add(buffer, bytes);
  RONDO_RETURN_IF_ERROR(added.status());
  if (added->real && !finalized_) {
    group_->registerMemory(rank_, added->handle, {static_cast<const std::byte*>(buffer), bytes});
  }
  return added->handle;
}

Status Communicator::deregister(std::uint64_t handle) {
  if (device_ != nullptr) return registrations_.remove(handle).status();
  const OperationOrder::Turn turn = order_->waitTurn();
  const auto removed = registrations_.remove(handle);
  RONDO_RETURN_IF_ERROR(removed.status());
  if (removed->real) group_->deregisterMemory(rank_, handle);
  return {};
}

Status Communicator::finalize() {
  const OperationOrder::Turn turn = order_->waitTurn();
  return finalizeInTurn();
}

Status Communicator::finalizeInTurn() {
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

template <class Body>
Status Communicator::inTurn(Collective collective, const Body& body) try {
  if (finalized_) return finalizedAlready();
  if (host::flagRaised(group_->failedFlag())) return failAll(group_->failure());
  return body();

} catch (const std::bad_alloc&) {  // while planning: nothing else allocates

  return failAll(
      Status::outOfMemory("rank {}: no memory for planning {}", rank_, collectiveName(collective)));
}

Status Communicator::run(const CollectiveCall& call, rondoStream_t stream) {
  const OperationOrder::Turn turn = order_->waitTurn();
  return runInTurn(call, stream);
}

Status Communicator::runInTurn(const CollectiveCall& call, rondoStream_t stream) {
  return inTurn(call.collective,
                [&] { return device_ != nullptr ? runOnDevice(call, stream) : runOnHost(call); });
}

Status Communicator::runOnHost(const CollectiveCall& call) {
  Result<PreparedOperation*> operation = prepare(call);
  if (!operation.ok()) return failOrReject(operation.status());
  Result<ErrorFeedback::Use> feedback =
      useFeedback((*operation)->plan, (*operation)->codedResults(), call);
  if (!feedback.ok()) return failOrReject(feedback.status());
  beginCall((*operation)->request, (*operation)->plan);
  Status status = execute(**operation, call, current_.fingerprint(), feedback->residuals());
  if (status.ok()) complete(**operation, call, *feedback);
  return status;
}

Result<ErrorFeedback::Use> Communicator::useFeedback(const Plan& plan,
                                                     std::size_t results,
                                                     const CollectiveCall& call) const {
  if (!call.compression.has_value() || call.compression->feedback == nullptr)
    return ErrorFeedback::Use();
  const RankPlace place{rank_, ranks(), call.root};
  FeedbackShape shape;
  shape.collective = static_cast<std::uint64_t>(call.collective);
  shape.op = static_cast<std::uint64_t>(call.op);
  shape.codec = static_cast<std::uint64_t>(call.compression->codec);
  shape.blockElems = call.compression->blockElems;
  shape.tensorsHash = call.compression->tensorsHash;
  shape.count = call.count;
  shape.ranks = static_cast<std::uint64_t>(ranks());
  shape.rank = static_cast<std::uint64_t>(rank_);
  shape.plan = plan.geometryHash();
  shape.contributions = call.count * inputBlocks(call.collective, place);
  shape.results = results;
  Result<ErrorFeedback::Use> use =
      ErrorFeedback::use(call.compression->feedback, shape, onDevice());
  if (use.ok()) return use;
  return std::move(use).status().withContext(
      fmt::format("rank {} compressed {}", rank_, collectiveName(call.collective)));
}

void Communicator::complete(const PreparedOperation& operation,
                            const CollectiveCall& call,
                            ErrorFeedback::Use& feedback) {
  if (call.compression.has_value()) {
    const host::CodingOutcome outcome = operation.codingOutcome();
    const bool reset = feedback.finish(outcome.nonFinite);
    if (call.compression->report != nullptr) {
      *call.compression->report = {outcome.wireBytes, outcome.plainBytes, outcome.nonFinite ? 1 : 0,
                                   reset ? 1 : 0};
    }
  }
  group_->record(rank_).finish(current_.sequence);
}

Status Communicator::runOnDevice(const CollectiveCall& call, rondoStream_t stream) {
  PlanRequest request = planRequest(call);
  if (request.coded.has_value()) request.coded->feedback = call.compression->feedback != nullptr;
  const Status checked = device_->check(call, request, stream);
  if (!checked.ok()) return failOrReject(checked);
  const Result<CollectiveCall> ready = withFactor(call, stream);
  if (!ready.ok()) return failOrReject(ready.status());
  const Result<Plan> plan = planOnDevice(call, request);
  if (!plan.ok()) return failOrReject(plan.status());
  beginCall(request, *plan);
  const Result<cuda::DeviceOperation*> operation = prepareOnDevice(call, request, *plan);
  if (!operation.ok()) return failAll(operation.status());
  const Status launched = launch(*ready, **operation, stream);
  return launched.ok() ? launched : failAll(launched);
}

/// Nobody but the host can write a report, so a call that wants one ends here.
Status Communicator::launch(const CollectiveCall& call,
                            cuda::DeviceOperation& operation,
                            rondoStream_t stream) {
  if (operation.hasFeedback()) return launchWithFeedback(call, operation, stream);
  RONDO_RETURN_IF_ERROR(device_->run(call, operation, current_, stream));
  if (!call.compression.has_value() || call.compression->report == nullptr) return {};
  const Result<rondoCompressionReport_t> report = device_->awaitReport(operation);
  RONDO_RETURN_IF_ERROR(report.status());
  *call.compression->report = *report;
  return {};
}

/// The residuals are zero after a result that is not finite, before anybody can use or save them:
/// so this call ends here, too.
Status Communicator::launchWithFeedback(const CollectiveCall& call,
                                        cuda::DeviceOperation& operation,
                                        rondoStream_t stream) {
  Result<ErrorFeedback::Use> feedback = useFeedback(operation.plan, operation.codedResults, call);
  RONDO_RETURN_IF_ERROR(feedback.status());
  {
    // As in preparing: memory is asked for while no kernel runs that waits for another rank.
    const auto halt = device_->settle();
    RONDO_RETURN_IF_ERROR(halt.status());
    const Result<host::Residuals> residuals = feedback->onDevice(device_->device());
    RONDO_RETURN_IF_ERROR(residuals.status());
    RONDO_RETURN_IF_ERROR(device_->placeResiduals(*residuals, operation));
    const std::byte ready{};
    std::vector<std::byte> all(static_cast<std::size_t>(ranks()));
    RONDO_RETURN_IF_ERROR(gatherRound({&ready, 1}, all));
  }
  RONDO_RETURN_IF_ERROR(device_->run(call, operation, current_, stream));
  Result<rondoCompressionReport_t> report = device_->awaitReport(operation);
  RONDO_RETURN_IF_ERROR(report.status());
  report->feedbackReset = feedback->finish(report->nonFinite != 0) ? 1 : 0;
  if (call.compression->report != nullptr) *call.compression->report = *report;
  return {};
}

Result<CollectiveCall> Communicator::withFactor(CollectiveCall call, rondoStream_t stream) const {
  if (call.deviceFactor == nullptr) return call;
  std::array<std::byte, sizeof(std::uint64_t)> scalar{};
  const std::span<std::byte> bytes = std::span(scalar).first(elementBytes(call.type));
  RONDO_RETURN_IF_ERROR(device_->read(call.deviceFactor, bytes, stream));
  call.factor = makeFactor(call.type, scalar.data());
  return call;
}

Result<Plan> Communicator::planOnDevice(const CollectiveCall& call,
                                        const PlanRequest& request) const {
  if (const cuda::DeviceOperation* operation = device_->prepared(call, request))
    return operation->plan;
  if (call.compression.has_value()) {
    const CodedBlocks blocks(call, ranks());
    Result<Plan> coded =
        makeCodedPlan(request, blocks.scheduleCount(), blocks.uniform(), deviceFacts_, settings_);
    RONDO_RETURN_IF_ERROR(coded.status());
    RONDO_RETURN_IF_ERROR(device_->checkPlan(request, *coded));
    return coded;
  }
  Result<Plan> plan = makePlan(request, deviceFacts_, settings_);
  RONDO_RETURN_IF_ERROR(plan.status());
  plan->protocol =
      cuda::chooseProtocol(request, ranks(), device_->links().carriesLines(), config_.cudaProtocol);
  RONDO_RETURN_IF_ERROR(device_->checkPlan(request, *plan));
  return plan;
}

Result<cuda::DeviceOperation*> Communicator::prepareOnDevice(const CollectiveCall& call,
                                                             const PlanRequest& request,
                                                             const Plan& plan) {
  if (cuda::DeviceOperation* operation = device_->prepared(call, request)) return operation;
  return device_->prepare(call, request, plan,
                          [this](auto own, auto all) { return gatherRound(own, all); });
}

Status Communicator::gatherRound(std::span<const std::byte> own, std::span<std::byte> all) {
  const CollectiveCall round = gatherCall(own, all);
  const Result<PreparedOperation*> operation = prepare(round);
  RONDO_RETURN_IF_ERROR(operation.status());
  return execute(**operation, round, current_.fingerprint() ^ ++rounds_);  // known by its number
}

/// For splitInTurn().
Status Communicator::gatherBytes(std::span<const std::byte> own, std::span<std::byte> all) {
  return inTurn(Collective::kAllGather, [&]() -> Status {
    if (!onDevice()) return runOnHost(gatherCall(own, all));
    const auto settled = device_->settle();
    RONDO_RETURN_IF_ERROR(settled.status());
    return runOnHost(gatherCall(own, all));
  });
}

Status Communicator::failOrReject(const Status& failure) {
  if (!losesOnlyTheCall(failure.code())) return failAll(failure);
  noteRejection(failure);
  return failure;
}

Status Communicator::reject(const Status& reason) {
  order_->leaveNote([this, reason] { noteRejection(reason); });
  return reason;
}

Status Communicator::rejectMessages(std::vector<int> peers, const Status& reason) {
  order_->leaveNote(
      [this, peers = std::move(peers), reason] { noteRejectedMessages(peers, reason); });
  return reason;
}

void Communicator::noteRejection(const Status& reason) {
  group_->record(rank_).reject(current_.sequence + 1, reason.message());
}

void Communicator::noteRejectedMessages(std::span<const int> peers, const Status& reason) {
  group_->record(rank_).rejectMessages(peers, reason.message());
}

// What programs may ask.

Result<Explanation> Communicator::explain(const CollectiveCall& call) const {
  const PlanRequest request = planRequest(call);
  const PlanFacts& facts = onDevice() ? deviceFacts_ : facts_;
  Result<Plan> plan = makePlan(request, facts, settings_);
  RONDO_RETURN_IF_ERROR(plan.status());
  if (onDevice()) {
    plan->protocol = cuda::chooseProtocol(request, ranks(), device_->links().carriesLines(),
                                          config_.cudaProtocol);
    RONDO_RETURN_IF_ERROR(device_->checkPlan(request, *plan));
  }
  std::vector<std::string_view> transports;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_) continue;
    const std::string_view name = *transportTo(peer);
    if (std::ranges::find(transports, name) == transports.end()) transports.push_back(name);
  }
  return explainPlan(request, *plan, facts, settings_, planCandidates(request, facts, settings_),
                     transports, onDevice());
}

Status Communicator::warmUpInTurn(const CollectiveCall& call) {
  return inTurn(call.collective, [&]() -> Status {
    if (device_ == nullptr) {
      const Result<PreparedOperation*> operation = prepare(call);
      return operation.ok() ? Status{} : failOrReject(operation.status());
    }
    const PlanRequest request = planRequest(call);
    const Result<Plan> plan = planOnDevice(call, request);
    if (!plan.ok()) return failOrReject(plan.status());
    beginCall(request, *plan);
    const Status prepared = prepareOnDevice(call, request, *plan).status();
    if (!prepared.ok()) return failAll(prepared);
    group_->record(rank_).finish(current_.sequence);
    return {};
  });
}

Status Communicator::warmUpMessagesInTurn(int peer, bool sends) {
  return inTurn(Collective::kBarrier, [&]() -> Status {
    if (peer == rank_) return {};
    if (onDevice()) return warmUpDeviceMessages(peer, sends);
    const Status made =
        sends ? messageEnds_.sendEnd(peer, 0).status() : messageEnds_.recvEnd(peer, 0).status();
    return made.ok() ? made : failAll(made);
  });
}

Result<std::vector<TransportMemory>> Communicator::memory() {
  const OperationOrder::Turn turn = order_->waitTurn();
  std::vector<TransportMemory> memory;
  RONDO_RETURN_IF_ERROR(inTurn(Collective::kBarrier, [&]() -> Status {
    memory = group_->memory();
    if (device_ != nullptr) memory.push_back({"cuda_ipc", device_->links().memoryBytes()});
    return {};
  }));
  return memory;
}

Status Communicator::checkPlan(const CollectiveCall& call) const {
  const PlanRequest request = planRequest(call);
  if (!call.varied && prepared_.find(request) != nullptr) return {};
  if (request.coded.has_value())
    return makeCodedPlan(request, request.count, true, facts_, settings_).status();
  return makePlan(request, facts_, settings_).status();
}

Result<PreparedOperation*> Communicator::prepare(const CollectiveCall& call) {
  const PlanRequest request = planRequest(call);
  // What looks into the arrays of one call is of no use to the next.
  PreparedOperation* const known = call.varied ? nullptr : prepared_.find(request);
  if (known != nullptr && known->fits(call)) return known;
  Result<PreparedOperation> operation = makeOperation(request, call);
  RONDO_RETURN_IF_ERROR(operation.status());
  RONDO_LOG(kDebug, kPlanner, LogContext{rank_, config_.name},
            "{} type {} count {} uses {} channels {} chunk elements {} workers {}",
            collectiveName(request.collective), dataTypeName(request.type), request.count,
            algorithmInfo(operation->plan.algorithm).name, operation->plan.channels,
            operation->plan.chunkElems, operation->plan.workers);
  engageCrew(*operation);
  return prepared_.keep(*std::move(operation));
}

void Communicator::engageCrew(PreparedOperation& operation) {
  // Connections over wires are moved by the thread that waits, which knows nothing of others.
  if (operation.plan.workers == 1 || group_->needsProgress()) return;
  if (crew_ == nullptr) {
    crew_ =
        std::make_unique<WorkerCrew>(crewPolicy_, group_->failedFlag(), group_->waitPlace(rank_));
  }
  const Status grown = crew_->grow(static_cast<std::size_t>(operation.plan.workers - 1));
  if (!grown.ok()) {
    RONDO_LOG(kWarn, kExecutor, (LogContext{rank_, config_.name}),
              "an operation is carried out by {} threads, not {}: {}", crew_->helpers() + 1,
              operation.plan.workers, grown.message());
  }
  if (crew_->helpers() > 0) operation.crew = crew_.get();
}

Result<PreparedOperation> Communicator::makeOperation(const PlanRequest& request,
                                                      const CollectiveCall& call) {
  const RankEnds ends{ends_, mailboxes_.get()};
  if (call.compression.has_value())
    return prepareCodedOperation(request, facts_, settings_, rank_, ends, call);
  return prepareOperation(request, facts_, onDevice() ? hostSettings(settings_) : settings_, rank_,
                          ends, call.varied ? &call : nullptr);
}

void Communicator::beginCall(const PlanRequest& request, const Plan& plan) {
  const std::uint64_t before = current_.fingerprint();
  current_ = signatureOf(request, plan, current_.sequence + 1);
  // Calls on devices run ahead of their completion, so that a difference may be looked for when the
  // records have moved on, and mailboxes hold nothing that a call has left over: each call is made
  // to depend on all before it, whichever way those went.
  if (onDevice() || facts_.mailboxBytes > 0) current_.geometry ^= before;
  group_->record(rank_).begin(current_);
}

Status Communicator::execute(PreparedOperation& operation,
                             const CollectiveCall& call,
                             std::uint64_t fingerprint,
                             const host::Residuals& residuals) {
  operation.restart();
  Status status = superviseRun(operation, makeWork(operation, call, fingerprint, residuals));
  if (!status.ok()) awaitReaders(operation);
  return status;
}

template <class Operation>
void Communicator::awaitReaders(Operation& operation) {
  const Deadline deadline = Deadline::within(kTimeToFinishReading);
  for (;;) {
    int reader = -1;
    operation.withdraw([&](int peer) {
      if (group_->whyLost(peer).empty()) reader = peer;
    });
    if (reader < 0) return;
    if (deadline.passed()) {
      RONDO_LOG(kError, kExecutor, (LogContext{rank_, config_.name}),
                "rank {} has not stopped reading this rank's buffers {} s after the operation "
                "failed; memory that is freed now may still be read",
                reader, kTimeToFinishReading.count());
      return;
    }
    std::this_thread::yield();
  }
}

template void Communicator::awaitReaders(PreparedOperation& operation);
template void Communicator::awaitReaders(MessageOperation& operation);

host::Work Communicator::makeWork(const PreparedOperation& operation,
                                  const CollectiveCall& call,
                                  std::uint64_t fingerprint,
                                  const host::Residuals& residuals) const {
  host::Work work;
  work.buffers.input = static_cast<const std::byte*>(call.send);
  work.buffers.output = static_cast<std::byte*>(call.recv);
  work.arithmetic = operation.arithmetic;
  work.arithmetic.scale = call.combineScale();
  work.call = fingerprint;
  work.residuals = residuals;
  const RankPlace place{rank_, ranks(), call.root};
  const bool apart = buffersAreApart(call, place);
  // What a stage leaves in the output or in scratch the next one reads, and stores over.
  const bool staged = operation.stages.has_value();
  work.streamsOutput = !staged && streamsOutput(call, place, config_.stores);
  const bool stays = !staged && gainsByZeroCopy(call.collective, apart);
  work.elsewhereBytes = stays ? config_.zeroCopyBytes : 0;
  work.adapterBytes = staged ? 0 : config_.zeroCopyBytes;
  work.inputStays = apart || !algorithmInfo(operation.plan.algorithm).storesOverSentInput;
  return work;
}

Status Communicator::superviseRun(PreparedOperation& operation, const host::Work& work) {
  host::Waiter waiter(operation.crew == nullptr ? waitPolicy_ : crewPolicy_, group_->failedFlag(),
                      group_->waitPlace(rank_));
  Watch watch;
  for (;;) {
    const host::RunOutcome outcome = operation.run(work, waiter);
    switch (outcome.result) {
      case host::RunResult::kDone:
        return {};
      case host::RunResult::kAborted:
        return failAll(group_->failure());
      case host::RunResult::kMismatch:
        return failMismatch(outcome.blocked);
      case host::RunResult::kStalled:
        RONDO_RETURN_IF_ERROR(checkPeer(operation, work, whomToCheck(outcome), watch));
        RONDO_RETURN_IF_ERROR(checkStall(outcome, waiter, watch));
    }
  }
}

Status Communicator::failMismatch(const host::Blocked& blocked) {
  group_->awaitRefreshed(blocked.peer, kPatienceForNews);
  return failAll(
      mismatchWith(waiting(), blocked.peer, group_->record(blocked.peer), blocked.otherCall));
}

int Communicator::whomToCheck(const host::RunOutcome& outcome) {
  if (!outcome.flushing) return outcome.blocked.peer;
  int chosen = -1;
  for (const int peer : group_->ranksThatHaveNotTaken()) {
    group_->refresh(peer);
    const CallRecord& record = group_->record(peer);
    const bool suspect =
        rejectionOf(current_, record).has_value() || !judgePeer(waiting(), peer, record).ok();
    if (suspect) return peer;
    if (chosen < 0) chosen = peer;
  }
  return chosen;
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
  if (!operation.blockedOn(peer, work)) return {};
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
  const std::chrono::milliseconds patience =
      outcome.blocked.peer < 0
          ? std::chrono::milliseconds{0}
          : patienceBeyondLimit(current_, outcome.blocked, group_->record(outcome.blocked.peer));
  if (isDue(config_.operationTimeout, waited - patience))
    return failAll(waitedTooLong(rank_, current_, waited, describeWait(outcome)));
  if (isDue(config_.warningAfter, waited) && !std::exchange(watch.warned, true))
    warnOfWait(rank_, config_.name, current_, waited, describeWait(outcome));
  return {};
}

}  // namespace rondo
