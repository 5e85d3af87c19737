#include "src/cuda/device_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "src/cuda/coded_operation.h"
#include "src/error_feedback.h"
#include "src/log.h"

namespace rondo::cuda {

namespace {

/// How long kernels may take to see that they shall give up.
constexpr std::chrono::seconds kTimeToGiveUp{5};

/// How long a rank that leaves waits for other processes to close what it gave them: they do it
/// when they leave, which all do at about the same time.
constexpr std::chrono::seconds kTimeToClose{5};

/// How long a rank whose call is complete waits for others to take what it has for them.
constexpr std::chrono::seconds kTimeToHandOver{5};

/// Between looks at them.
constexpr std::chrono::milliseconds kBetweenLooks{1};

/// Whether the driver has been told to return from a launch when it is complete.
bool launchesBlock() {
  const Environment environment = wholeEnvironment();
  const auto variable = environment.find("CUDA_LAUNCH_BLOCKING");
  return variable != environment.end() && !variable->second.empty() && variable->second != "0";
}

}  // namespace

Result<std::unique_ptr<DeviceEngine>> DeviceEngine::make(const DeviceRank& self,
                                                         std::shared_ptr<SharedLaunch> launches,
                                                         std::shared_ptr<RankGroup> group,
                                                         SlotShape slots,
                                                         const Config& config) {
  std::unique_ptr<DeviceEngine> engine(
      new DeviceEngine(self, std::move(launches), std::move(group), slots, config));
  Result<std::unique_ptr<DeviceWatch>> watch =
      DeviceWatch::start(self.rank, engine->launches_->device(), engine->group_, engine->judge_,
                         engine->messageJudge_);
  RONDO_RETURN_IF_ERROR(watch.status());
  engine->watch_ = *std::move(watch);
  return engine;
}

DeviceEngine::DeviceEngine(const DeviceRank& self,
                           std::shared_ptr<SharedLaunch> launches,
                           std::shared_ptr<RankGroup> group,
                           SlotShape slots,
                           const Config& config)
    : rank_(self.rank),
      ranks_(self.ranks),
      slotBytes_(slots.bytes),
      acrossProcesses_(self.acrossProcesses),
      launchesBlock_(launchesBlock()),
      launches_(std::move(launches)),
      group_(std::move(group)),
      links_(self, group_, slots),
      pump_(rank_, group_, [this] { return watch_->busy(); }),
      judge_(rank_, ranks_, group_, pump_, config),
      messageJudge_(rank_, group_, pump_, config),
      ends_(launches_->device(), links_),
      messageTables_(launches_->device()) {}

DeviceEngine::~DeviceEngine() {
  pump_.stop();  // it asks the watch, which goes first
}

// What can be wrong with a call.

Status DeviceEngine::check(const CollectiveCall& call,
                           const PlanRequest& request,
                           Stream stream) const {
  const CurrentDevice current(device());
  RONDO_RETURN_IF_ERROR(checkStream(stream));
  if (call.count > 0 || call.varied) {
    if (call.send != nullptr) RONDO_RETURN_IF_ERROR(checkBuffer("send", call.send));
    if (call.recv != nullptr) RONDO_RETURN_IF_ERROR(checkBuffer("recv", call.recv));
  }
  if (call.compression.has_value() && call.compression->feedback != nullptr)
    RONDO_RETURN_IF_ERROR(call.compression->feedback->checkUnused());
  const Result<bool> captured = capturing(stream);
  RONDO_RETURN_IF_ERROR(captured.status());
  if (!*captured) return {};
  if (call.compression.has_value() &&
      (call.compression->report != nullptr || call.compression->feedback != nullptr)) {
    return Status::notSupported(
        "rank {}: stream {} is being captured, and a compressed operation with a report or an "
        "error feedback waits for its end; pass neither",
        rank_, static_cast<const void*>(stream));
  }
  if (launches_->members() > 1) {
    return Status::notSupported(
        "rank {}: stream {} is being captured, and {} ranks of this process share {}: capture "
        "with one rank per device",
        rank_, static_cast<const void*>(stream), launches_->members(), device().name());
  }
  if (call.varied) {
    return Status::notSupported(
        "rank {}: stream {} is being captured, and an operation with blocks of different sizes "
        "cannot be; use one with blocks of one size",
        rank_, static_cast<const void*>(stream));
  }
  if (prepared(call, request) != nullptr) return {};
  return Status::invalidUsage(
      "rank {}: stream {} is being captured, and this operation was not run before: run it once "
      "with the same count, type, reduction and root to warm up, then capture",
      rank_, static_cast<const void*>(stream));
}

Status DeviceEngine::placeResiduals(const host::Residuals& residuals, DeviceOperation& operation) {
  return rondo::cuda::placeResiduals(residuals, device(), operation);
}

Result<rondoCompressionReport_t> DeviceEngine::awaitReport(const DeviceOperation& operation) {
  // A call that returns when it is complete has left its caller's buffers when it has failed, too.
  const CurrentDevice current(device());
  const Status ended = watch_->settle();
  if (!ended.ok()) return abandon(ended);
  return rondoCompressionReport_t{operation.wireBytes, operation.plainBytes,
                                  operation.nonFinite() ? 1 : 0, 0};
}

Status DeviceEngine::checkMessages(std::span<const MessageCall> calls, Stream stream) const {
  const CurrentDevice current(device());
  RONDO_RETURN_IF_ERROR(checkStream(stream));
  for (const MessageCall& call : calls) {
    if (call.count == 0) continue;
    RONDO_RETURN_IF_ERROR(call.sends ? checkBuffer("send", call.source)
                                     : checkBuffer("recv", call.target));
  }
  const Result<bool> captured = capturing(stream);
  RONDO_RETURN_IF_ERROR(captured.status());
  if (*captured) {
    return Status::notSupported(
        "rank {}: stream {} is being captured, and messages from rank to rank cannot be captured; "
        "make them outside of the graph",
        rank_, static_cast<const void*>(stream));
  }
  return launches_->checkMessageStream(rank_, stream);
}

Status DeviceEngine::checkStream(Stream stream) const {
  if (stream == nullptr) return {};
  Context context = nullptr;
  const Driver& driver = device().driver();
  const Status found = driver.check(
      driver.streamContext(stream, &context),
      fmt::format("asking for the device of stream {}", static_cast<const void*>(stream)));
  if (!found.ok()) {
    return Status::invalidArgument("rank {}: {}; pass a stream of {}", rank_, found.message(),
                                   device().name());
  }
  if (context == device().context()) return {};
  return Status::invalidArgument("rank {}: stream {} belongs to another device; pass one of {}",
                                 rank_, static_cast<const void*>(stream), device().name());
}

Status DeviceEngine::checkBuffer(const char* name, const void* buffer) const {
  const Driver& driver = device().driver();
  unsigned kind = 0;
  int ordinal = -1;
  const auto address = reinterpret_cast<DevicePointer>(buffer);
  const bool known = driver.pointerAttribute(&kind, kPointerMemoryType, address) == kSuccess;
  if (!known || kind == kMemoryTypeHost) {
    return Status::invalidArgument(
        "rank {}: {} {} is host memory, but this communicator is on {}; pass memory of that device",
        rank_, name, buffer, device().name());
  }
  const bool told = driver.pointerAttribute(&ordinal, kPointerDeviceOrdinal, address) == kSuccess;
  if (!told || ordinal == device().ordinal()) return {};
  return Status::invalidArgument(
      "rank {}: {} {} is memory of CUDA device {}, but this communicator is on {}", rank_, name,
      buffer, ordinal, device().name());
}

Result<bool> DeviceEngine::capturing(Stream stream) const {
  int status = 0;
  const Driver& driver = device().driver();
  const Status asked = driver.check(driver.streamIsCapturing(stream, &status),
                                    "asking whether a stream is being captured");
  if (!asked.ok()) {
    return Status::invalidUsage(
        "rank {}: {}; the default stream cannot be used while another one is captured", rank_,
        asked.message());
  }
  return status != 0;
}

Status DeviceEngine::read(const void* from, std::span<std::byte> to, Stream stream) const {
  const CurrentDevice current(device());
  RONDO_RETURN_IF_ERROR(checkBuffer("scalar", from));
  const Result<bool> captured = capturing(stream);
  RONDO_RETURN_IF_ERROR(captured.status());
  if (*captured) {
    return Status::invalidUsage(
        "rank {}: stream {} is being captured, and the factor of the reduction lies in memory of "
        "the device, which is read when the operation is issued; capture one with a factor in "
        "host memory",
        rank_, static_cast<const void*>(stream));
  }
  const Driver& driver = device().driver();
  RONDO_RETURN_IF_ERROR(driver.check(
      driver.copyFromDevice(to.data(), reinterpret_cast<DevicePointer>(from), to.size(), stream),
      "reading the factor of a reduction"));
  return driver.check(driver.streamSynchronize(stream), "waiting for the factor of a reduction");
}

// Running.

Status DeviceEngine::run(const CollectiveCall& call,
                         DeviceOperation& operation,
                         const CallSignature& signature,
                         Stream stream) {
  const CurrentDevice current(device());
  // A captured launch runs when its graph does, any number of times: nobody can watch it.
  const Result<bool> captured = capturing(stream);
  RONDO_RETURN_IF_ERROR(captured.status());
  if (*captured && !std::exchange(operation.captured, true)) watch_->addCaptured(operation);
  if (call.varied && operation.blockValues != blockValuesOf(call, ranks_)) {
    // What was launched before looks at the blocks of its own call.
    RONDO_RETURN_IF_ERROR(watch_->settle());
    RONDO_RETURN_IF_ERROR(putBlocks(call, ranks_, device(), operation));
  }
  DeviceJudge::JudgedWait wait{.call = signature};
  const auto launch = [&] {
    return launches_->launch(rank_, partOf(operation, call, signature, stream, *captured),
                             [&] { return judge_.judge(wait, {}); });
  };
  if (*captured) {
    const Status launched = launch();
    pump_.wake();
    return launched.ok() ? launched : abandon(launched);
  }
  watch_->begin(signature, operation);
  pump_.wake();
  Status launched = launch();
  if (launched.ok()) launched = watch_->launched(stream);
  if (launched.ok()) return endIfBlocking(operation, signature);
  watch_->cancel();
  return abandon(launched);
}

/// Where launching waits for the end, it may be over by now, and not well. Then the others have and
/// know what they need of this rank before its caller goes on, who may end the process.
Status DeviceEngine::endIfBlocking(const DeviceOperation& operation,
                                   const CallSignature& signature) {
  if (launchesBlock_ && acrossProcesses_) {
    (void)watch_->settle();  // another failure than this call's is the next one's
    (void)pump_.flush(Deadline::within(kTimeToHandOver));
  }
  return watch_->failureOf(operation, signature);
}

/// A kernel that nobody watches may have been launched: it gives up before its memory can go.
Status DeviceEngine::abandon(const Status& failure) {
  group_->fail(failure);
  watch_->giveUp();
  // It may be on the stream of another rank that shares the device.
  (void)device().driver().contextSynchronize();
  return failure;
}

/// A newcomer has taken the place of `operation`, which graphs may need for ever.
void DeviceEngine::retire(std::unique_ptr<DeviceOperation> operation) {
  if (operation == nullptr) return;
  if (operation->captured) captured_.push_back(std::move(operation));
}

Result<std::unique_ptr<Pump::Halt>> DeviceEngine::settle() {
  RONDO_RETURN_IF_ERROR(watch_->settle());
  awaitReplays();
  return std::make_unique<Pump::Halt>(pump_);
}

/// Nobody tells when the replay of a graph is complete.
void DeviceEngine::awaitReplays() {
  if (!hasCaptured()) return;
  const CurrentDevice current(device());
  (void)device().driver().contextSynchronize();
}

Status DeviceEngine::checkPlan(const PlanRequest& request, const Plan& plan) const {
  RONDO_RETURN_IF_ERROR(checkResidency(plan, launches_->members(), device()));
  return checkPeers(request, plan, ranks_, rank_);
}

Result<DeviceOperation*> DeviceEngine::prepare(const CollectiveCall& call,
                                               const PlanRequest& request,
                                               const Plan& plan,
                                               const GatherBytes& gather) {
  const CurrentDevice current(device());
  // The driver may wait for running kernels before it gives memory, and they for other ranks: so
  // none of this rank's runs, nor another's of what is new, until all have what they need. What is
  // new to one rank is new to all.
  const Result<std::unique_ptr<Pump::Halt>> halt = settle();
  RONDO_RETURN_IF_ERROR(halt.status());
  RONDO_RETURN_IF_ERROR(links_.connect(endsOf(request, plan, ranks_, rank_), gather));
  retire(prepared_.release(request));
  Result<DeviceOperation> operation =
      call.compression.has_value()
          ? bindCodedOperation(call, request, plan, ranks_, rank_, device(), ends_)
          : bindOperation(request, plan, ranks_, rank_, device(), ends_);
  RONDO_RETURN_IF_ERROR(operation.status());
  if (group_->needsProgress()) RONDO_RETURN_IF_ERROR(pump_.start());
  const std::byte ready{};
  std::vector<std::byte> all(static_cast<std::size_t>(ranks_));
  RONDO_RETURN_IF_ERROR(gather({&ready, 1}, all));
  return prepared_.keep(*std::move(operation));
}

// Messages.

std::vector<int> DeviceEngine::strangers(std::span<const int> peers) const {
  std::vector<int> strangers;
  std::ranges::copy_if(peers, std::back_inserter(strangers),
                       [this](int peer) { return !links_.hasMessagesWith(peer); });
  return strangers;
}

Status DeviceEngine::prepareMessages(std::span<const int> peers, const SwapBytes& swap) {
  const CurrentDevice current(device());
  // As for operations: what the driver may wait for before it gives memory has ended. But there is
  // no last round by which all know that all are ready: a rank may have to wait for one that has
  // its first messages with others, and that for it.
  const Result<std::unique_ptr<Pump::Halt>> halt = settle();
  RONDO_RETURN_IF_ERROR(halt.status());
  RONDO_RETURN_IF_ERROR(messageTables_.prepare());
  RONDO_RETURN_IF_ERROR(links_.connectMessages(peers, swap));
  for (const int peer : peers) {
    for (const bool sends : {true, false})
      RONDO_RETURN_IF_ERROR(ends_.find({peer, kDeviceMessageChannel, sends}).status());
  }
  return group_->needsProgress() ? pump_.start() : Status();
}

/// A place for the tables of a launch; where all are used, once what was launched is complete.
Result<MessageTables*> DeviceEngine::takeTables(std::size_t bytes) {
  MessageTables* place = messageTables_.find(bytes);
  if (place != nullptr) return place;
  const Result<std::unique_ptr<Pump::Halt>> halt = settle();
  RONDO_RETURN_IF_ERROR(halt.status());
  RONDO_RETURN_IF_ERROR(messageTables_.prepare());
  return messageTables_.grow(bytes);
}

Status DeviceEngine::runMessages(MessageList list, Stream stream) {
  const CurrentDevice current(device());
  Result<PackedMessages> packed = PackedMessages::make(list, ranks_, slotBytes_, ends_);
  RONDO_RETURN_IF_ERROR(packed.status());
  const Result<MessageTables*> tables = takeTables(packed->bytes());
  RONDO_RETURN_IF_ERROR(tables.status());
  RONDO_RETURN_IF_ERROR(packed->store(device(), **tables));
  (*tables)->used.store(true, std::memory_order_relaxed);
  const std::uint64_t number = ++messageLaunches_;
  device::MessageArgs args;
  args.work.abortFlag = watch_->abortFlag();
  args.work.call = number;
  args.lanes = (*tables)->lanesOnDevice();
  watch_->begin(std::make_unique<const DeviceMessages>(std::move(list), **tables, number));
  pump_.wake();
  Status launched = launches_->launchMessages(rank_, args, packed->lanes(), stream);
  if (launched.ok()) launched = watch_->launched(stream);
  if (launched.ok()) return endMessagesIfBlocking();
  watch_->cancel();
  return abandon(launched);
}

/// See endIfBlocking().
Status DeviceEngine::endMessagesIfBlocking() {
  if (!launchesBlock_) return {};
  const Status ended = watch_->settle();
  if (acrossProcesses_) (void)pump_.flush(Deadline::within(kTimeToHandOver));
  return ended;
}

LaunchPart DeviceEngine::partOf(const DeviceOperation& operation,
                                const CollectiveCall& call,
                                const CallSignature& signature,
                                Stream stream,
                                bool captured) const {
  LaunchPart part;
  part.stream = stream;
  part.captured = captured;
  // What only moves is moved by any kernel; that of the type may have no reductions to it.
  part.type = operation.request.type;
  part.coded = operation.isCoded();
  part.args.arithmetic = operation.arithmetic;
  part.args.op = operation.request.op;
  part.args.protocol = operation.plan.protocol;
  part.args.channels = operation.plan.channels;
  device::RankWork& work = part.args.ranks[0];
  work.lanes = operation.lanes.onDevice<const device::Lane>();
  work.input = static_cast<const std::byte*>(call.send);
  work.output = static_cast<std::byte*>(call.recv);
  work.abortFlag = watch_->abortFlag();
  work.call = signature.fingerprint();
  if (call.combineScale() != nullptr)
    std::memcpy(&work.scale, call.combineScale(), scaleBytes(operation.request.type));
  return part;
}

bool DeviceEngine::hasCaptured() {
  bool any = !captured_.empty();
  prepared_.forEach([&](const DeviceOperation& operation) { any |= operation.captured; });
  return any;
}

void DeviceEngine::finish(Deadline deadline) {
  bool complete = group_->failure().ok() && watch_->flush(deadline);
  if (!complete && group_->failure().ok()) {
    group_->fail(
        Status::timeout("rank {}: its last operations were not complete when it left", rank_));
  }
  if (!complete) {
    watch_->giveUp();
    complete = watch_->flush(Deadline::within(kTimeToGiveUp));
  }
  if (!complete) {
    pump_.stop();
    RONDO_LOG(kWarn, kCommunicator, LogContext{.rank = rank_},
              "a kernel on {} has not ended; the memory that it uses is left to it until the "
              "process ends",
              device().name());
    return leaveBehind();
  }
  awaitReplays();
  links_.closeOpened();
  // Meanwhile the pump hands over what others still wait for.
  const bool closed = closedByOthers(earlier(deadline, Deadline::within(kTimeToClose)));
  pump_.stop();
  if (closed) return;
  RONDO_LOG(kInfo, kCommunicator, LogContext{.rank = rank_},
            "{} bytes of {} are left to other processes, which have not closed them, until this "
            "process ends",
            links_.memoryBytes(), device().name());
  links_.leaveGivenBehind();
}

/// Says that this rank uses nothing of others any more, and waits until those that use memory of
/// this one say the same; after a failure nobody knows.
bool DeviceEngine::closedByOthers(Deadline deadline) {
  if (!links_.haveGiven()) return true;
  const std::vector<int> ranks = links_.openedBy();
  group_->record(rank_).leave();
  const auto closed = [this](int rank) { return group_->record(rank).hasLeft(); };
  while (!std::ranges::all_of(ranks, closed)) {
    if (!group_->failure().ok() || deadline.passed()) return false;
    for (const int rank : ranks)
      group_->refresh(rank);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void DeviceEngine::leaveBehind() {
  links_.leaveBehind();
  ends_.leaveBehind();
  prepared_.forEach([](DeviceOperation& operation) { operation.leaveBehind(); });
  for (const auto& operation : captured_)
    operation->leaveBehind();
  messageTables_.leaveBehind();
  watch_->leaveBehind();
}

}  // namespace rondo::cuda
