// The C functions of rondo.h: find the communicator, check, call, and turn a Status into a
// rondoResult_t and the text of rondoGetLastError. No exception leaves this file.

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/rondo.h"
#include "src/argument_checks.h"
#include "src/communicator.h"
#include "src/communicator_entry.h"
#include "src/communicator_handles.h"
#include "src/compression_checks.h"
#include "src/config.h"
#include "src/environment_ranks.h"
#include "src/error_feedback.h"
#include "src/feedback_handles.h"
#include "src/group.h"
#include "src/host_event.h"
#include "src/host_stream.h"
#include "src/last_error.h"
#include "src/log.h"
#include "src/program_memory.h"
#include "src/rendezvous_keeper.h"
#include "src/status.h"
#include "src/stream_handles.h"
#include "src/stream_task.h"
#include "transports/slot_account.h"

namespace rondo {

namespace {

#define RONDO_SAME(name, cppType, bytes, text) \
  static_assert(static_cast<int>(rondo##name) == static_cast<int>(DataType::k##name));
RONDO_FOR_EACH_DATA_TYPE(RONDO_SAME)
#undef RONDO_SAME

constexpr bool same(rondoRedOp_t op, ReduceOp internal) {
  return static_cast<int>(op) == static_cast<int>(internal);
}

static_assert(rondoComplex64 == kDataTypeCount && rondoComplex128 == kDataTypeCount + 1);
static_assert(same(rondoSum, ReduceOp::kSum) && same(rondoProd, ReduceOp::kProd) &&
              same(rondoMin, ReduceOp::kMin) && same(rondoMax, ReduceOp::kMax) &&
              same(rondoAvg, ReduceOp::kAvg) && kReduceOpCount == 6);

constexpr bool same(rondoResult_t result, StatusCode code) {
  return static_cast<int>(result) == static_cast<int>(code);
}

static_assert(same(rondoSuccess, StatusCode::kOk) &&
              same(rondoInProgress, StatusCode::kInProgress) &&
              same(rondoInvalidArgument, StatusCode::kInvalidArgument) &&
              same(rondoInvalidUsage, StatusCode::kInvalidUsage) &&
              same(rondoNotSupported, StatusCode::kNotSupported) &&
              same(rondoPeerLost, StatusCode::kPeerLost) &&
              same(rondoTimeout, StatusCode::kTimeout) &&
              same(rondoMismatch, StatusCode::kMismatch) &&
              same(rondoAborted, StatusCode::kAborted) &&
              same(rondoOutOfMemory, StatusCode::kOutOfMemory) &&
              same(rondoSystemError, StatusCode::kSystemError) &&
              same(rondoInternalError, StatusCode::kInternal));

rondoResult_t toResult(StatusCode code) {
  return static_cast<rondoResult_t>(code);
}

void remember(rondoComm_t comm, const Status& status) {
  rememberFailure(reinterpret_cast<std::uint64_t>(comm), status.message());
}

/// Logs and remembers a failure of the call `function`.
[[gnu::cold]] [[gnu::noinline]] rondoResult_t report(const char* function,
                                                     rondoComm_t comm,
                                                     const Status& status) noexcept {
  // What a program did itself, and can see from the result, is no error of the communicator.
  if (losesOnlyTheCall(status.code()) || status.code() == StatusCode::kAborted) {
    RONDO_LOG(kWarn, kApi, "{}: {}: {}", function, statusCodeName(status.code()), status.message());
  } else {
    RONDO_LOG(kError, kApi, "{}: {}: {}", function, statusCodeName(status.code()),
              status.message());
  }
  remember(comm, status);
  return toResult(status.code());
}

/// Runs `body`, which gives a Status, and reports its failure.
template <class Body>
rondoResult_t guarded(const char* function, rondoComm_t comm, const Body& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) [[likely]]
      return rondoSuccess;
    return report(function, comm, status);
  } catch (const std::bad_alloc&) {
    rememberFailure(reinterpret_cast<std::uint64_t>(comm), "out of memory");
    return rondoOutOfMemory;
  } catch (const std::exception& exception) {
    rememberFailure(reinterpret_cast<std::uint64_t>(comm), exception.what());
    return rondoInternalError;
  }
}

/// guarded(), for a `body` that takes the Communicator behind `comm`.
template <class Body>
rondoResult_t withCommunicator(const char* function, rondoComm_t comm, const Body& body) noexcept {
  return guarded(function, comm, [&]() -> Status {
    const Result<Communicator*> communicator = findCommunicator(comm);
    RONDO_RETURN_IF_ERROR(communicator.status());
    return body(**communicator);
  });
}

Status checkOutput(const char* name, const void* pointer) {
  if (pointer != nullptr) return {};
  return Status::invalidArgument("{} is NULL; pass where the answer goes", name);
}

/// withCommunicator(), for a call that may be part of a group: what refuses it spoils the group.
template <class Body>
rondoResult_t withCall(const char* function, rondoComm_t comm, const Body& body) noexcept {
  return guarded(function, comm, [&]() -> Status {
    CallGroup& group = CallGroup::ofThread();
    const Result<Communicator*> communicator = findCommunicator(comm);
    try {
      Status status = communicator.ok() ? body(**communicator, group) : communicator.status();
      if (!status.ok() && group.collecting()) group.refuse(status);
      return status;
    } catch (const std::bad_alloc&) {
      if (group.collecting()) group.refuse(Status::outOfMemory("no memory to note a call"));
      throw;
    }
  });
}

/// withCommunicator(), for what needs none yet: `body` takes the CommunicatorEntry behind `comm`.
template <class Body>
rondoResult_t withEntry(const char* function, rondoComm_t comm, const Body& body) noexcept {
  return guarded(function, comm, [&]() -> Status {
    const Result<CommunicatorEntry*> entry = findEntry(comm);
    RONDO_RETURN_IF_ERROR(entry.status());
    return body(**entry);
  });
}

/// The result of a call that was carried out, or is being carried out by the communicator's thread.
rondoResult_t told(rondoResult_t result, bool inProgress) {
  return inProgress && result == rondoSuccess ? rondoInProgress : result;
}

/// Carries `work`, which takes a turn, out in the calling thread or the communicator's.
/// @param inProgress set if it is the latter
template <class Work>
Status carryOut(Communicator& communicator, const Work& work, bool& inProgress) {
  if (communicator.worker() == nullptr) {
    const OperationOrder::Turn turn = communicator.order()->waitTurn();
    return work();
  }
  communicator.worker()->enqueue(
      InTurnTask(work, nullptr, std::optional<IssuedPlace>(communicator.order())));
  inProgress = true;
  return {};
}

/// The stream on host memory that a call is issued on; null: none, or the device's.
Result<HostStream*> hostStream(const Communicator& communicator,
                               std::string_view call,
                               rondoStream_t stream) {
  if (stream == nullptr) [[likely]]
    return static_cast<HostStream*>(nullptr);
  const auto addContext = [&](Status status) {
    return std::move(status).withContext(fmt::format("rank {} {}", communicator.rank(), call));
  };
  if (!communicator.onDevice()) {
    Result<HostStream*> found = findStream(stream);
    return found.ok() ? found : addContext(std::move(found).status());
  }
  if (!isHostStream(stream)) return static_cast<HostStream*>(nullptr);
  return addContext(Status::invalidArgument(
      "{} is a stream on host memory, the communicator one of CUDA devices; pass a CUDA stream of "
      "the rank's device",
      static_cast<const void*>(stream)));
}

/// Carries `call` out, issues it on `queue`, or adds it to the group that is being collected.
/// @param queue      that of `stream`; null where it is none on host memory
/// @param inProgress set if it was issued on the communicator's own
Status dispatch(Communicator& communicator,
                rondoComm_t comm,
                const CollectiveCall& call,
                rondoStream_t stream,
                HostStream* queue,
                bool& inProgress) {
  CallGroup& group = CallGroup::ofThread();
  if (group.collecting()) {
    if (!communicator.onDevice()) return group.addOnHost(comm, call, stream);
    group.add(comm, call, stream);
    return {};
  }
  if (queue == nullptr && communicator.worker() == nullptr) [[likely]]
    return communicator.run(call, stream);
  inProgress = queue == nullptr;
  (inProgress ? communicator.worker() : queue)->enqueue(CollectiveTask(communicator, call, stream));
  return {};
}

Caller callerOf(const Communicator& communicator) {
  return {communicator.rank(), communicator.ranks(), communicator.onDevice()};
}

/// @tparam Raw RawCall, RawVariedCall or RawCompressedCall
template <class Raw>
rondoResult_t runCollective(const char* function,
                            const Raw& raw,
                            rondoComm_t comm,
                            rondoStream_t stream) noexcept {
  bool inProgress = false;
  const auto body = [&](Communicator& communicator, CallGroup&) -> Status {
    const Result<HostStream*> queue =
        hostStream(communicator, collectiveName(raw.collective), stream);
    if (!queue.ok()) return communicator.reject(queue.status());
    const Result<CollectiveCall> call =
        checkArguments(raw, callerOf(communicator), communicator.reductions());
    if (!call.ok()) return communicator.reject(call.status());
    return dispatch(communicator, comm, *call, stream, *queue, inProgress);
  };
  const rondoResult_t result = withCall(function, comm, body);
  return told(result, inProgress);
}

/// Refuses a message; its other end is told, now or when the group that it is part of has ended.
Status refuseMessage(Communicator& communicator,
                     rondoComm_t comm,
                     CallGroup& group,
                     int peer,
                     const Status& reason) {
  if (peer < 0 || peer >= communicator.ranks() || peer == communicator.rank()) return reason;
  if (!group.collecting()) return communicator.rejectMessages({peer}, reason);
  group.refuseMessage(comm, peer, reason);
  return reason;
}

rondoResult_t makeMessage(const char* function,
                          const RawMessage& raw,
                          rondoComm_t comm,
                          rondoStream_t stream) noexcept {
  bool inProgress = false;
  const auto body = [&](Communicator& communicator, CallGroup& group) -> Status {
    const auto refuse = [&](const Status& reason) {
      return refuseMessage(communicator, comm, group, raw.peer, reason);
    };
    const Result<HostStream*> queue = hostStream(communicator, raw.sends ? "send" : "recv", stream);
    if (!queue.ok()) return refuse(queue.status());
    const Result<MessageCall> message = checkMessage(raw, callerOf(communicator));
    if (!message.ok()) return refuse(message.status());
    if (group.collecting()) {
      return communicator.onDevice() ? group.add(comm, *message, stream)
                                     : group.addOnHost(comm, *message, stream);
    }
    inProgress = *queue == nullptr && communicator.worker() != nullptr;
    return group.runMessage(communicator, *message, inProgress ? communicator.worker() : *queue,
                            stream);
  };
  const rondoResult_t result = withCall(function, comm, body);
  return told(result, inProgress);
}

/// The outcome of a group is that of each communicator that was part of it.
rondoResult_t endGroup(const char* function) noexcept {
  bool inProgress = false;
  const rondoResult_t result = guarded(function, nullptr, [&] {
    GroupOutcome outcome = CallGroup::ofThread().end();
    inProgress = outcome.inProgress;
    if (!outcome.status.ok()) {
      for (rondoComm_t comm : outcome.members)
        remember(comm, outcome.status);
    }
    return std::move(outcome.status);
  });
  return told(result, inProgress);
}

/// The settings that `requested` and the environment give, put into effect for the log.
Result<Config> prepareConfig(const rondoConfig_t* requested) {
  Result<Config> config = loadConfig(requested, processEnvironment());
  if (!config.ok()) return config;
  RONDO_RETURN_IF_ERROR(configureLog(config->log));
  RONDO_LOG(kInfo, kApi, "rondo {}.{}.{}", RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH);
  logConfig(*config);
  return config;
}

Status initAll(rondoComm_t* comms, int ranks, const rondoConfig_t* requested) {
  RONDO_RETURN_IF_ERROR(checkOutput("comms", comms));
  if (ranks < 1) return Status::invalidArgument("ranks is {}; pass 1 or more", ranks);
  const Result<Config> config = prepareConfig(requested);
  RONDO_RETURN_IF_ERROR(config.status());
  auto communicators = Communicator::createThreads(ranks, *config);
  RONDO_RETURN_IF_ERROR(communicators.status());
  return registerCommunicators(*std::move(communicators), comms);
}

Status initAllOnDevices(rondoComm_t* comms,
                        int ranks,
                        const int* devices,
                        const rondoConfig_t* requested) {
  RONDO_RETURN_IF_ERROR(checkOutput("comms", comms));
  if (ranks < 1) return Status::invalidArgument("ranks is {}; pass 1 or more", ranks);
  if (devices == nullptr)
    return Status::invalidArgument("devices is NULL; pass the number of each rank's CUDA device");
  const Result<Config> config = prepareConfig(requested);
  RONDO_RETURN_IF_ERROR(config.status());
  auto communicators =
      Communicator::createOnDevices({devices, static_cast<std::size_t>(ranks)}, *config);
  RONDO_RETURN_IF_ERROR(communicators.status());
  return registerCommunicators(*std::move(communicators), comms);
}

Status getUniqueId(rondoUniqueId_t* id) {
  RONDO_RETURN_IF_ERROR(checkOutput("id", id));
  const Result<Config> config = prepareConfig(nullptr);
  RONDO_RETURN_IF_ERROR(config.status());
  const Result<UniqueId> made = serveRendezvous(rendezvousSettings(*config));
  RONDO_RETURN_IF_ERROR(made.status());
  static_assert(sizeof id->bytes == sizeof made->bytes);
  std::memcpy(id->bytes, made->bytes.data(), sizeof id->bytes);
  return {};
}

/// Makes a communicator by `make`, which takes the settings, now or in a thread of its own.
/// @param comm       receives the handle
/// @param inProgress set if it is the latter
/// @param place      where making it is an operation of another communicator, its place there
template <class Make>
Status makeCommunicator(Config config,
                        const Make& make,
                        rondoComm_t* comm,
                        bool& inProgress,
                        std::optional<IssuedPlace> place = std::nullopt) {
  config.givenUp = std::make_shared<std::uint32_t>(0);
  const GivenUpFlag givenUp = config.givenUp;
  auto entry = CommunicatorEntry::making(
      [config = std::move(config), make] { return make(config); }, givenUp, std::move(place));
  RONDO_RETURN_IF_ERROR(entry.status());
  const Result<rondoComm_t> handle = registerEntry(*std::move(entry));
  RONDO_RETURN_IF_ERROR(handle.status());
  *comm = *handle;
  inProgress = true;
  return {};
}

Status registerCommunicator(Result<std::unique_ptr<Communicator>> made, rondoComm_t* comm) {
  RONDO_RETURN_IF_ERROR(made.status());
  std::vector<std::unique_ptr<Communicator>> one;
  one.push_back(*std::move(made));
  return registerCommunicators(std::move(one), comm);
}

Status initRank(rondoComm_t* comm,
                int ranks,
                const rondoUniqueId_t& id,
                int rank,
                const rondoConfig_t* requested,
                bool& inProgress) {
  RONDO_RETURN_IF_ERROR(checkOutput("comm", comm));
  if (ranks < 1) return Status::invalidArgument("ranks is {}; pass 1 or more", ranks);
  if (rank < 0 || rank >= ranks) {
    return Status::invalidArgument("rank is {}; pass 0 to {}, ranks being {}", rank, ranks - 1,
                                   ranks);
  }
  const Result<Config> config = prepareConfig(requested);
  RONDO_RETURN_IF_ERROR(config.status());
  if (config->deviceIsLocalRank) {
    return Status::invalidArgument(
        "RONDO_DEVICE is local, which rondoCommInitFromEnvironment knows from the launcher; "
        "rondoCommInitRank takes the number of a device");
  }
  UniqueId meeting;
  std::memcpy(meeting.bytes.data(), id.bytes, sizeof id.bytes);
  const auto make = [meeting, rank, ranks](const Config& settings) {
    return Communicator::createRank(meeting, rank, ranks, settings);
  };
  if (config->blocking) return registerCommunicator(make(*config), comm);
  return makeCommunicator(*config, make, comm, inProgress);
}

/// The device of a rank that was launched, if that is to follow from its place on its host.
Status chooseDevice(const Launch& launch, Config& config) {
  if (!config.deviceIsLocalRank) return {};
  if (!launch.localRank.has_value()) {
    return Status::invalidArgument(
        "RONDO_DEVICE is local, but {} tells rank {} no local rank; pass the number of its device",
        launcherName(launch.launcher), launch.rank);
  }
  config.device = *launch.localRank;
  return {};
}

/// The communicator of the rank that the environment says this process is.
Result<std::unique_ptr<Communicator>> createFromEnvironment(Config config,
                                                            const Environment& environment) {
  const Deadline deadline = config.initDeadline();
  Result<EnvironmentMeeting> meeting = meetByEnvironment(config, environment, deadline);
  RONDO_RETURN_IF_ERROR(meeting.status());
  const Launch& launch = meeting->launch;
  RONDO_RETURN_IF_ERROR(chooseDevice(launch, config));
  if (launch.ranks == 1) {
    auto alone = config.device.has_value()
                     ? Communicator::createOnDevices({&*config.device, 1}, config)
                     : Communicator::createThreads(1, config);
    RONDO_RETURN_IF_ERROR(alone.status());
    return std::move(alone->front());
  }
  // Not 0, which would mean for ever.
  if (!deadline.never()) {
    config.initTimeout = std::max(deadline.remaining(), decltype(config.initTimeout){1});
  }
  config.meeting.privateOnly = meeting->privateOnly;
  auto communicator = Communicator::createRank(meeting->id, launch.rank, launch.ranks, config);
  // Others may still be reading what the root owes them.
  if (communicator.ok() && meeting->rendezvous) keepRendezvous(std::move(meeting->rendezvous));
  return communicator;
}

Status initFromEnvironment(rondoComm_t* comm, const rondoConfig_t* requested, bool& inProgress) {
  RONDO_RETURN_IF_ERROR(checkOutput("comm", comm));
  const Result<Config> config = prepareConfig(requested);
  RONDO_RETURN_IF_ERROR(config.status());
  // Read now, as the program may change it later.
  const auto make = [environment = wholeEnvironment()](const Config& settings) {
    return createFromEnvironment(settings, environment);
  };
  if (config->blocking) return registerCommunicator(make(*config), comm);
  return makeCommunicator(*config, make, comm, inProgress);
}

/// The split of a rank whose part's calls do not wait, nor does this.
Status splitInProgress(Communicator& communicator,
                       int color,
                       int key,
                       rondoComm_t* newComm,
                       std::optional<Config> config,
                       bool& inProgress) {
  const bool inherits = !config.has_value();
  const auto make = [&communicator, color, key, inherits](const Config& settings) {
    return communicator.splitInTurn(color, key, settings, inherits);
  };
  Config settings = inherits ? communicator.config() : *std::move(config);
  IssuedPlace place(communicator.order());
  if (color != kNoColor)
    return makeCommunicator(std::move(settings), make, newComm, inProgress, std::move(place));
  // This rank only lends the others a hand.
  const auto help = [make, settings] { return make(settings).status(); };
  *newComm = nullptr;
  return carryOut(communicator, help, inProgress);
}

Status split(Communicator& communicator,
             int color,
             int key,
             rondoComm_t* newComm,
             const rondoConfig_t* requested,
             bool& inProgress) {
  RONDO_RETURN_IF_ERROR(checkOutput("newComm", newComm));
  std::optional<Config> config;
  if (requested != nullptr) {
    Result<Config> prepared = prepareConfig(requested);
    RONDO_RETURN_IF_ERROR(prepared.status());
    config = *std::move(prepared);
  }
  if (!(config ? *config : communicator.config()).blocking)
    return splitInProgress(communicator, color, key, newComm, std::move(config), inProgress);
  auto part = communicator.split(color, key, config ? &*config : nullptr);
  RONDO_RETURN_IF_ERROR(part.status());
  *newComm = nullptr;
  return *part != nullptr ? registerCommunicator(std::move(part), newComm) : Status{};
}

Status createPreMulSum(Communicator& communicator,
                       rondoRedOp_t* op,
                       const void* scalar,
                       int type,
                       rondoScalarResidence_t residence) {
  RONDO_RETURN_IF_ERROR(checkOutput("op", op));
  if (scalar == nullptr) return Status::invalidArgument("scalar is NULL; pass one element");
  if (type == rondoComplex64 || type == rondoComplex128) {
    return Status::invalidArgument(
        "premulsum of complex numbers is not there; multiply before, or sum by a function "
        "(rondoRedOpCreateUser)");
  }
  if (type < 0 || type >= kDataTypeCount) {
    return Status::invalidArgument("type {} is no rondoDataType_t", type);
  }
  if (residence != rondoScalarHostImmediate && residence != rondoScalarDevice) {
    return Status::invalidArgument(
        "residence {} of the scalar; pass rondoScalarHostImmediate or rondoScalarDevice",
        static_cast<int>(residence));
  }
  const Result<int> handle = communicator.reductions().createPreMulSum(
      static_cast<DataType>(type), scalar, residence == rondoScalarDevice);
  RONDO_RETURN_IF_ERROR(handle.status());
  *op = static_cast<rondoRedOp_t>(*handle);
  return {};
}

Status createUserReduction(Communicator& communicator,
                           rondoRedOp_t* op,
                           rondoReduceFunction_t function,
                           int commutative,
                           void* context) {
  RONDO_RETURN_IF_ERROR(checkOutput("op", op));
  if (function == nullptr) return Status::invalidArgument("function is NULL");
  if (commutative != 0 && commutative != 1)
    return Status::invalidArgument("commutative is {}; pass 0 or 1", commutative);
  if (communicator.onDevice()) {
    return Status::notSupported(
        "rank {}: a reduction by a function on a communicator of CUDA devices: kernels cannot call "
        "it, host communicators can",
        communicator.rank());
  }
  const Result<int> handle =
      communicator.reductions().createUser(function, commutative != 0, context);
  RONDO_RETURN_IF_ERROR(handle.status());
  *op = static_cast<rondoRedOp_t>(*handle);
  return {};
}

// Queries.

/// A call that is named, with no buffers.
/// @param collective as a program names it
/// @errors InvalidArgument
Result<CollectiveCall> describedCall(const Communicator& communicator,
                                     const ReductionTable& reductions,
                                     const char* collective,
                                     const RawCall& described) {
  if (collective == nullptr)
    return Status::invalidArgument("collective is NULL; pass a name such as \"all_reduce\"");
  RawCall raw = described;
  std::string known;
  bool found = false;
  for (int place = 0; place < kCollectiveCount; ++place) {
    const auto candidate = static_cast<Collective>(place);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", collectiveName(candidate));
    if (collectiveName(candidate) != collective) continue;
    raw.collective = candidate;
    found = true;
  }
  if (!found)
    return Status::invalidArgument("\"{}\" is no collective; pass one of {}", collective, known);
  return checkDescription(raw, callerOf(communicator), reductions);
}

template <std::size_t kSize>
void copyText(std::string_view text, char (&to)[kSize]) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// That the struct at `pointer` is one that this library can fill in.
template <class Struct>
Status checkStruct(const char* name, const Struct* pointer) {
  RONDO_RETURN_IF_ERROR(checkOutput(name, pointer));
  if (pointer->size == sizeof(Struct)) return {};
  return Status::invalidArgument("{}->size is {}; set it to the struct's size, {}", name,
                                 pointer->size, sizeof(Struct));
}

Status query(Communicator& communicator,
             const char* collective,
             const RawCall& described,
             rondoCallPlan_t* plan) {
  RONDO_RETURN_IF_ERROR(checkStruct("plan", plan));
  const Result<CollectiveCall> call =
      describedCall(communicator, communicator.reductions(), collective, described);
  RONDO_RETURN_IF_ERROR(call.status());
  const Result<Explanation> explanation = communicator.explain(*call);
  RONDO_RETURN_IF_ERROR(explanation.status());
  plan->algorithm = explanation->algorithm.data();
  plan->protocol = explanation->protocol.data();
  plan->channels = explanation->channels;
  plan->chunkBytes = explanation->chunkBytes;
  plan->predictedMicros = explanation->predictedMicros;
  copyText(explanation->transports, plan->transports);
  copyText(explanation->why, plan->why);
  return {};
}

/// What readies `communicator` for calls like the one described.
Result<std::function<Status()>> warmUpWork(Communicator& communicator,
                                           const char* collective,
                                           const RawCall& described) {
  const std::string_view name = collective != nullptr ? collective : "";
  if (name != "send" && name != "recv") {
    const Result<CollectiveCall> call =
        describedCall(communicator, communicator.reductions(), collective, described);
    RONDO_RETURN_IF_ERROR(call.status());
    return std::function<Status()>(
        [&communicator, call = *call] { return communicator.warmUpInTurn(call); });
  }
  const int peer = described.root;
  if (peer < 0 || peer >= communicator.ranks()) {
    return Status::invalidArgument("peer {} is no rank; pass 0 to {}", peer,
                                   communicator.ranks() - 1);
  }
  return std::function<Status()>([&communicator, peer, sends = name == "send"] {
    return communicator.warmUpMessagesInTurn(peer, sends);
  });
}

Status warmUp(Communicator& communicator,
              const char* collective,
              const RawCall& described,
              bool& inProgress) {
  if (CallGroup::ofThread().collecting())
    return Status::invalidUsage("rondoCommWarmUp in a group; call it before rondoGroupStart");
  const Result<std::function<Status()>> work = warmUpWork(communicator, collective, described);
  RONDO_RETURN_IF_ERROR(work.status());
  return carryOut(communicator, *work, inProgress);
}

Status memoryOf(Communicator& communicator, rondoMemoryUse_t* use) {
  RONDO_RETURN_IF_ERROR(checkStruct("use", use));
  const Result<std::vector<TransportMemory>> memory = communicator.memory();
  RONDO_RETURN_IF_ERROR(memory.status());
  *use = {};
  use->size = sizeof(rondoMemoryUse_t);
  use->processSlots = SlotLedger::ofThisProcess().held();
  use->processLimit = communicator.config().slotMemoryBytes;
  for (const TransportMemory& transport : *memory) {
    use->bytes += transport.bytes;
    if (use->transports == RONDO_MOST_TRANSPORTS) continue;
    use->byTransport[use->transports].name = transport.transport.data();
    use->byTransport[use->transports].bytes = transport.bytes;
    ++use->transports;
  }
  return {};
}

// Memory.

Status allocate(void** memory, std::size_t bytes, int device) {
  RONDO_RETURN_IF_ERROR(checkOutput("memory", memory));
  if (device < -1) {
    return Status::invalidArgument(
        "device is {}; pass the number of a CUDA device, or -1 for host memory", device);
  }
  const Result<void*> allocated =
      allocateMemory(bytes, device >= 0 ? std::optional(device) : std::nullopt);
  RONDO_RETURN_IF_ERROR(allocated.status());
  *memory = *allocated;
  return {};
}

Status registerBuffer(Communicator& communicator,
                      const void* buffer,
                      std::size_t bytes,
                      rondoRegistration_t* registration) {
  RONDO_RETURN_IF_ERROR(checkOutput("registration", registration));
  const Result<std::uint64_t> handle = communicator.registerMemory(buffer, bytes);
  RONDO_RETURN_IF_ERROR(handle.status());
  *registration = reinterpret_cast<rondoRegistration_t>(*handle);
  return {};
}

Status createStream(rondoStream_t* stream) {
  RONDO_RETURN_IF_ERROR(checkOutput("stream", stream));
  Result<std::unique_ptr<HostStream>> started = HostStream::start();
  RONDO_RETURN_IF_ERROR(started.status());
  const Result<rondoStream_t> handle = registerStream(*std::move(started));
  RONDO_RETURN_IF_ERROR(handle.status());
  *stream = *handle;
  return {};
}

Status destroyStream(rondoStream_t handle) {
  const Result<std::unique_ptr<HostStream>> stream = takeStream(handle);
  RONDO_RETURN_IF_ERROR(stream.status());
  return *stream != nullptr ? (*stream)->synchronize() : Status{};
}

Status createEvent(rondoEvent_t* event) {
  RONDO_RETURN_IF_ERROR(checkOutput("event", event));
  const Result<rondoEvent_t> handle = registerEvent(std::make_shared<HostEvent>());
  RONDO_RETURN_IF_ERROR(handle.status());
  *event = *handle;
  return {};
}

Status createFeedback(rondoErrorFeedback_t* feedback) {
  RONDO_RETURN_IF_ERROR(checkOutput("feedback", feedback));
  const Result<rondoErrorFeedback_t> handle = registerFeedback(std::make_shared<ErrorFeedback>());
  RONDO_RETURN_IF_ERROR(handle.status());
  *feedback = *handle;
  return {};
}

Status saveFeedback(ErrorFeedback& feedback, void* bytes, std::size_t capacity, size_t* size) {
  RONDO_RETURN_IF_ERROR(checkOutput("size", size));
  const Result<std::size_t> saved = bytes == nullptr
                                        ? feedback.savedBytes()
                                        : feedback.save({static_cast<std::byte*>(bytes), capacity});
  RONDO_RETURN_IF_ERROR(saved.status());
  *size = *saved;
  return {};
}

/// guarded(), for a `body` that takes the ErrorFeedback behind `handle`.
template <class Body>
rondoResult_t withFeedback(const char* function,
                           rondoErrorFeedback_t handle,
                           const Body& body) noexcept {
  return guarded(function, nullptr, [&]() -> Status {
    const Result<std::shared_ptr<ErrorFeedback>> feedback = findFeedback(handle);
    RONDO_RETURN_IF_ERROR(feedback.status());
    return body(**feedback);
  });
}

/// Issues a task about `event` on `stream`, or runs it in the calling thread where that is NULL.
template <class Task>
Status issueOnEvent(rondoEvent_t event, rondoStream_t stream) {
  Result<std::shared_ptr<HostEvent>> found = findEvent(event);
  RONDO_RETURN_IF_ERROR(found.status());
  const Result<HostStream*> queue = findStream(stream);
  RONDO_RETURN_IF_ERROR(queue.status());
  Task task(*std::move(found));
  if (*queue != nullptr) {
    (*queue)->enqueue(std::move(task));
    return {};
  }
  task.issue();
  return task.run();
}

/// guarded(), for a `body` that tells that something goes on by InProgress, which is no failure.
template <class Body>
rondoResult_t guardedQuery(const char* function, const Body& body) noexcept {
  bool goesOn = false;
  const rondoResult_t result = guarded(function, nullptr, [&]() -> Status {
    Status status = body();
    goesOn = status.code() == StatusCode::kInProgress;
    return goesOn ? Status{} : std::move(status);
  });
  return goesOn ? rondoInProgress : result;
}

}  // namespace

}  // namespace rondo

using rondo::Collective;
using rondo::Communicator;
using rondo::CommunicatorEntry;
using rondo::Status;

rondoResult_t rondoGetVersion(int* version) {
  return rondo::guarded(__func__, nullptr, [&]() -> Status {
    RONDO_RETURN_IF_ERROR(rondo::checkOutput("version", version));
    *version = RONDO_VERSION;
    return {};
  });
}

const char* rondoGetErrorString(rondoResult_t result) {
  return rondo::statusCodeName(static_cast<rondo::StatusCode>(result));
}

const char* rondoGetLastError(rondoComm_t comm) {
  return rondo::lastFailure(reinterpret_cast<std::uint64_t>(comm));
}

rondoResult_t rondoCommInitAll(rondoComm_t* comms, int ranks, const rondoConfig_t* config) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::initAll(comms, ranks, config); });
}

rondoResult_t rondoCommInitAllOnDevices(rondoComm_t* comms,
                                        int ranks,
                                        const int* devices,
                                        const rondoConfig_t* config) {
  return rondo::guarded(__func__, nullptr,
                        [&] { return rondo::initAllOnDevices(comms, ranks, devices, config); });
}

rondoResult_t rondoGetUniqueId(rondoUniqueId_t* id) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::getUniqueId(id); });
}

rondoResult_t rondoCommInitRank(
    rondoComm_t* comm, int ranks, rondoUniqueId_t id, int rank, const rondoConfig_t* config) {
  bool inProgress = false;
  const rondoResult_t result = rondo::guarded(__func__, nullptr, [&] {
    return rondo::initRank(comm, ranks, id, rank, config, inProgress);
  });
  return rondo::told(result, inProgress);
}

rondoResult_t rondoCommInitFromEnvironment(rondoComm_t* comm, const rondoConfig_t* config) {
  bool inProgress = false;
  const rondoResult_t result = rondo::guarded(
      __func__, nullptr, [&] { return rondo::initFromEnvironment(comm, config, inProgress); });
  return rondo::told(result, inProgress);
}

rondoResult_t rondoCommDestroy(rondoComm_t comm) {
  if (comm == nullptr) return rondoSuccess;
  return rondo::guarded(__func__, comm, [&] { return rondo::takeEntry(comm).status(); });
}

rondoResult_t rondoCommFinalize(rondoComm_t comm) {
  bool inProgress = false;
  const rondoResult_t result =
      rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
        return rondo::carryOut(
            communicator, [&communicator] { return communicator.finalizeInTurn(); }, inProgress);
      });
  return rondo::told(result, inProgress);
}

rondoResult_t rondoCommSplit(
    rondoComm_t comm, int color, int key, rondoComm_t* newComm, const rondoConfig_t* config) {
  bool inProgress = false;
  const rondoResult_t result =
      rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
        return rondo::split(communicator, color, key, newComm, config, inProgress);
      });
  return rondo::told(result, inProgress);
}

rondoResult_t rondoCommAbort(rondoComm_t comm) {
  return rondo::withEntry(__func__, comm, [](CommunicatorEntry& entry) -> Status {
    entry.abort();
    return {};
  });
}

rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result) {
  return rondo::withEntry(__func__, comm, [&](CommunicatorEntry& entry) -> Status {
    RONDO_RETURN_IF_ERROR(rondo::checkOutput("result", result));
    const Status outcome = entry.asyncError();
    const bool failed = !outcome.ok() && outcome.code() != rondo::StatusCode::kInProgress;
    if (failed) rondo::remember(comm, outcome);
    *result = rondo::toResult(outcome.code());
    return {};
  });
}

rondoResult_t rondoCommSynchronize(rondoComm_t comm) {
  return rondo::withEntry(__func__, comm,
                          [](CommunicatorEntry& entry) { return entry.synchronize(); });
}

rondoResult_t rondoCommCount(rondoComm_t comm, int* ranks) {
  return rondo::withCommunicator(__func__, comm, [&](const Communicator& communicator) -> Status {
    RONDO_RETURN_IF_ERROR(rondo::checkOutput("ranks", ranks));
    *ranks = communicator.ranks();
    return {};
  });
}

rondoResult_t rondoCommRank(rondoComm_t comm, int* rank) {
  return rondo::withCommunicator(__func__, comm, [&](const Communicator& communicator) -> Status {
    RONDO_RETURN_IF_ERROR(rondo::checkOutput("rank", rank));
    *rank = communicator.rank();
    return {};
  });
}

rondoResult_t rondoCommGetTransport(rondoComm_t comm, int peer, const char** name) {
  return rondo::withCommunicator(__func__, comm, [&](const Communicator& communicator) -> Status {
    RONDO_RETURN_IF_ERROR(rondo::checkOutput("name", name));
    const rondo::Result<std::string_view> transport = communicator.transportTo(peer);
    RONDO_RETURN_IF_ERROR(transport.status());
    *name = transport->data();
    return {};
  });
}

rondoResult_t rondoCommQuery(rondoComm_t comm,
                             const char* collective,
                             size_t count,
                             rondoDataType_t type,
                             rondoRedOp_t op,
                             int root,
                             rondoCallPlan_t* plan) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return rondo::query(communicator, collective,
                        {Collective::kBarrier, nullptr, nullptr, count, type, op, root}, plan);
  });
}

rondoResult_t rondoCommWarmUp(rondoComm_t comm,
                              const char* collective,
                              size_t count,
                              rondoDataType_t type,
                              rondoRedOp_t op,
                              int root) {
  bool inProgress = false;
  const rondoResult_t result =
      rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
        return rondo::warmUp(communicator, collective,
                             {Collective::kBarrier, nullptr, nullptr, count, type, op, root},
                             inProgress);
      });
  return rondo::told(result, inProgress);
}

rondoResult_t rondoCommGetMemory(rondoComm_t comm, rondoMemoryUse_t* use) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return rondo::memoryOf(communicator, use);
  });
}

rondoResult_t rondoMemAlloc(void** memory, size_t bytes, int device) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::allocate(memory, bytes, device); });
}

rondoResult_t rondoMemFree(void* memory) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::freeMemory(memory); });
}

rondoResult_t rondoCommRegister(rondoComm_t comm,
                                void* buffer,
                                size_t bytes,
                                rondoRegistration_t* registration) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return rondo::registerBuffer(communicator, buffer, bytes, registration);
  });
}

rondoResult_t rondoCommDeregister(rondoComm_t comm, rondoRegistration_t registration) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return communicator.deregister(reinterpret_cast<std::uint64_t>(registration));
  });
}

rondoResult_t rondoRedOpCreatePreMulSum(rondoRedOp_t* op,
                                        const void* scalar,
                                        rondoDataType_t type,
                                        rondoScalarResidence_t residence,
                                        rondoComm_t comm) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return rondo::createPreMulSum(communicator, op, scalar, type, residence);
  });
}

rondoResult_t rondoRedOpCreateUser(rondoRedOp_t* op,
                                   rondoReduceFunction_t function,
                                   int commutative,
                                   void* context,
                                   rondoComm_t comm) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return rondo::createUserReduction(communicator, op, function, commutative, context);
  });
}

rondoResult_t rondoRedOpDestroy(rondoRedOp_t op, rondoComm_t comm) {
  return rondo::withCommunicator(__func__, comm, [&](Communicator& communicator) {
    return communicator.reductions().destroy(op);
  });
}

rondoResult_t rondoAllReduce(const void* send,
                             void* recv,
                             size_t count,
                             rondoDataType_t type,
                             rondoRedOp_t op,
                             rondoComm_t comm,
                             rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kAllReduce, send, recv, count, type, op}, comm, stream);
}

rondoResult_t rondoReduceScatter(const void* send,
                                 void* recv,
                                 size_t count,
                                 rondoDataType_t type,
                                 rondoRedOp_t op,
                                 rondoComm_t comm,
                                 rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kReduceScatter, send, recv, count, type, op}, comm,
      stream);
}

rondoResult_t rondoAllGather(const void* send,
                             void* recv,
                             size_t count,
                             rondoDataType_t type,
                             rondoComm_t comm,
                             rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kAllGather, send, recv, count, type}, comm, stream);
}

rondoResult_t rondoBroadcast(const void* send,
                             void* recv,
                             size_t count,
                             rondoDataType_t type,
                             int root,
                             rondoComm_t comm,
                             rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kBroadcast, send, recv, count, type, rondoSum, root},
      comm, stream);
}

rondoResult_t rondoReduce(const void* send,
                          void* recv,
                          size_t count,
                          rondoDataType_t type,
                          rondoRedOp_t op,
                          int root,
                          rondoComm_t comm,
                          rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kReduce, send, recv, count, type, op, root}, comm,
      stream);
}

rondoResult_t rondoAllToAll(const void* send,
                            void* recv,
                            size_t count,
                            rondoDataType_t type,
                            rondoComm_t comm,
                            rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kAllToAll, send, recv, count, type}, comm, stream);
}

rondoResult_t rondoGather(const void* send,
                          void* recv,
                          size_t count,
                          rondoDataType_t type,
                          int root,
                          rondoComm_t comm,
                          rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kGather, send, recv, count, type, rondoSum, root}, comm,
      stream);
}

rondoResult_t rondoScatter(const void* send,
                           void* recv,
                           size_t count,
                           rondoDataType_t type,
                           int root,
                           rondoComm_t comm,
                           rondoStream_t stream) {
  return rondo::runCollective(
      __func__, rondo::RawCall{Collective::kScatter, send, recv, count, type, rondoSum, root}, comm,
      stream);
}

rondoResult_t rondoAllGatherV(const void* send,
                              void* recv,
                              const size_t* counts,
                              const size_t* displacements,
                              rondoDataType_t type,
                              rondoComm_t comm,
                              rondoStream_t stream) {
  return rondo::runCollective(__func__,
                              rondo::RawVariedCall{.collective = Collective::kAllGather,
                                                   .send = send,
                                                   .recv = recv,
                                                   .recvBlocks = {counts, displacements},
                                                   .type = type},
                              comm, stream);
}

rondoResult_t rondoReduceScatterV(const void* send,
                                  void* recv,
                                  const size_t* counts,
                                  const size_t* displacements,
                                  rondoDataType_t type,
                                  rondoRedOp_t op,
                                  rondoComm_t comm,
                                  rondoStream_t stream) {
  return rondo::runCollective(__func__,
                              rondo::RawVariedCall{.collective = Collective::kReduceScatter,
                                                   .send = send,
                                                   .recv = recv,
                                                   .sendBlocks = {counts, displacements},
                                                   .type = type,
                                                   .op = op},
                              comm, stream);
}

rondoResult_t rondoAllReduceCompressed(const void* send,
                                       void* recv,
                                       size_t count,
                                       rondoDataType_t type,
                                       rondoRedOp_t op,
                                       const rondoCompression_t* compression,
                                       rondoComm_t comm,
                                       rondoStream_t stream) {
  return rondo::runCollective(
      __func__,
      rondo::RawCompressedCall{{Collective::kAllReduce, send, recv, count, type, op}, compression},
      comm, stream);
}

rondoResult_t rondoReduceScatterCompressed(const void* send,
                                           void* recv,
                                           size_t count,
                                           rondoDataType_t type,
                                           rondoRedOp_t op,
                                           const rondoCompression_t* compression,
                                           rondoComm_t comm,
                                           rondoStream_t stream) {
  return rondo::runCollective(
      __func__,
      rondo::RawCompressedCall{{Collective::kReduceScatter, send, recv, count, type, op},
                               compression},
      comm, stream);
}

rondoResult_t rondoAllGatherCompressed(const void* send,
                                       void* recv,
                                       size_t count,
                                       rondoDataType_t type,
                                       const rondoCompression_t* compression,
                                       rondoComm_t comm,
                                       rondoStream_t stream) {
  return rondo::runCollective(
      __func__,
      rondo::RawCompressedCall{{Collective::kAllGather, send, recv, count, type}, compression},
      comm, stream);
}

rondoResult_t rondoErrorFeedbackCreate(rondoErrorFeedback_t* feedback) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::createFeedback(feedback); });
}

rondoResult_t rondoErrorFeedbackDestroy(rondoErrorFeedback_t feedback) {
  if (feedback == nullptr) return rondoSuccess;
  return rondo::guarded(__func__, nullptr, [&] { return rondo::dropFeedback(feedback); });
}

rondoResult_t rondoErrorFeedbackReset(rondoErrorFeedback_t feedback) {
  return rondo::withFeedback(__func__, feedback,
                             [](rondo::ErrorFeedback& found) { return found.reset(); });
}

rondoResult_t rondoErrorFeedbackSave(rondoErrorFeedback_t feedback,
                                     void* bytes,
                                     size_t capacity,
                                     size_t* size) {
  return rondo::withFeedback(__func__, feedback, [&](rondo::ErrorFeedback& found) {
    return rondo::saveFeedback(found, bytes, capacity, size);
  });
}

rondoResult_t rondoErrorFeedbackLoad(rondoErrorFeedback_t feedback,
                                     const void* bytes,
                                     size_t size) {
  return rondo::withFeedback(__func__, feedback, [&](rondo::ErrorFeedback& found) -> Status {
    if (bytes == nullptr) return Status::invalidArgument("bytes is NULL; pass what was saved");
    return found.load({static_cast<const std::byte*>(bytes), size});
  });
}

rondoResult_t rondoAllToAllV(const void* send,
                             const size_t* sendCounts,
                             const size_t* sendDisplacements,
                             void* recv,
                             const size_t* recvCounts,
                             const size_t* recvDisplacements,
                             rondoDataType_t type,
                             rondoComm_t comm,
                             rondoStream_t stream) {
  return rondo::runCollective(__func__,
                              rondo::RawVariedCall{.collective = Collective::kAllToAll,
                                                   .send = send,
                                                   .recv = recv,
                                                   .sendBlocks = {sendCounts, sendDisplacements},
                                                   .recvBlocks = {recvCounts, recvDisplacements},
                                                   .type = type},
                              comm, stream);
}

rondoResult_t rondoGatherV(const void* send,
                           size_t sendCount,
                           void* recv,
                           const size_t* recvCounts,
                           const size_t* recvDisplacements,
                           rondoDataType_t type,
                           int root,
                           rondoComm_t comm,
                           rondoStream_t stream) {
  return rondo::runCollective(__func__,
                              rondo::RawVariedCall{.collective = Collective::kGather,
                                                   .send = send,
                                                   .recv = recv,
                                                   .recvBlocks = {recvCounts, recvDisplacements},
                                                   .ownCount = sendCount,
                                                   .type = type,
                                                   .root = root},
                              comm, stream);
}

rondoResult_t rondoScatterV(const void* send,
                            const size_t* sendCounts,
                            const size_t* sendDisplacements,
                            void* recv,
                            size_t recvCount,
                            rondoDataType_t type,
                            int root,
                            rondoComm_t comm,
                            rondoStream_t stream) {
  return rondo::runCollective(__func__,
                              rondo::RawVariedCall{.collective = Collective::kScatter,
                                                   .send = send,
                                                   .recv = recv,
                                                   .sendBlocks = {sendCounts, sendDisplacements},
                                                   .ownCount = recvCount,
                                                   .type = type,
                                                   .root = root},
                              comm, stream);
}

rondoResult_t rondoSend(const void* send,
                        size_t count,
                        rondoDataType_t type,
                        int peer,
                        rondoComm_t comm,
                        rondoStream_t stream) {
  return rondo::makeMessage(__func__, {true, send, nullptr, count, type, peer}, comm, stream);
}

rondoResult_t rondoRecv(void* recv,
                        size_t count,
                        rondoDataType_t type,
                        int peer,
                        rondoComm_t comm,
                        rondoStream_t stream) {
  return rondo::makeMessage(__func__, {false, nullptr, recv, count, type, peer}, comm, stream);
}

rondoResult_t rondoSendTagged(const void* send,
                              size_t count,
                              rondoDataType_t type,
                              int peer,
                              int tag,
                              rondoComm_t comm,
                              rondoStream_t stream) {
  return rondo::makeMessage(__func__, {true, send, nullptr, count, type, peer, tag}, comm, stream);
}

rondoResult_t rondoRecvTagged(void* recv,
                              size_t count,
                              rondoDataType_t type,
                              int peer,
                              int tag,
                              rondoComm_t comm,
                              rondoStream_t stream) {
  return rondo::makeMessage(__func__, {false, nullptr, recv, count, type, peer, tag}, comm, stream);
}

rondoResult_t rondoGroupStart(void) {
  rondo::CallGroup::ofThread().start();
  return rondoSuccess;
}

rondoResult_t rondoGroupCancel(void) {
  return rondo::guarded(__func__, nullptr, [] { return rondo::CallGroup::ofThread().cancel(); });
}

rondoResult_t rondoGroupEnd(void) {
  return rondo::endGroup(__func__);
}

rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream) {
  return rondo::runCollective(__func__, rondo::RawCall{Collective::kBarrier}, comm, stream);
}

rondoResult_t rondoStreamCreate(rondoStream_t* stream) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::createStream(stream); });
}

rondoResult_t rondoStreamDestroy(rondoStream_t stream) {
  if (stream == nullptr) return rondoSuccess;
  return rondo::guarded(__func__, nullptr, [&] { return rondo::destroyStream(stream); });
}

rondoResult_t rondoStreamSynchronize(rondoStream_t stream) {
  return rondo::guarded(__func__, nullptr, [&]() -> Status {
    const rondo::Result<rondo::HostStream*> found = rondo::findStream(stream);
    RONDO_RETURN_IF_ERROR(found.status());
    return *found != nullptr ? (*found)->synchronize() : Status{};
  });
}

rondoResult_t rondoStreamQuery(rondoStream_t stream) {
  return rondo::guardedQuery(__func__, [&]() -> Status {
    const rondo::Result<rondo::HostStream*> found = rondo::findStream(stream);
    RONDO_RETURN_IF_ERROR(found.status());
    return *found != nullptr ? (*found)->query() : Status{};
  });
}

rondoResult_t rondoStreamWaitEvent(rondoStream_t stream, rondoEvent_t event) {
  return rondo::guarded(__func__, nullptr,
                        [&] { return rondo::issueOnEvent<rondo::WaitTask>(event, stream); });
}

rondoResult_t rondoEventCreate(rondoEvent_t* event) {
  return rondo::guarded(__func__, nullptr, [&] { return rondo::createEvent(event); });
}

rondoResult_t rondoEventDestroy(rondoEvent_t event) {
  if (event == nullptr) return rondoSuccess;
  return rondo::guarded(__func__, nullptr, [&] { return rondo::dropEvent(event); });
}

rondoResult_t rondoEventRecord(rondoEvent_t event, rondoStream_t stream) {
  return rondo::guarded(__func__, nullptr,
                        [&] { return rondo::issueOnEvent<rondo::MarkTask>(event, stream); });
}

rondoResult_t rondoEventSynchronize(rondoEvent_t event) {
  return rondo::guarded(__func__, nullptr,
                        [&] { return rondo::issueOnEvent<rondo::WaitTask>(event, nullptr); });
}

rondoResult_t rondoEventQuery(rondoEvent_t event) {
  return rondo::guardedQuery(__func__, [&]() -> Status {
    const auto found = rondo::findEvent(event);
    RONDO_RETURN_IF_ERROR(found.status());
    if ((*found)->passed((*found)->latest())) return {};
    return Status::inProgress("work before the event goes on");
  });
}
