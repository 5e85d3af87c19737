// The functions of nccl.h: each finds its counterpart in rondo.h and calls it. Defined as pncclX,
// with ncclX a weak second name for the same code, as NCCL has it for profilers.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "rondo/nccl/nccl.h"
#include "rondo/rondo.h"
#include "src/communicator.h"
#include "src/communicator_handles.h"
#include "src/config.h"
#include "src/log.h"
#include "src/nccl/calls_underway.h"
#include "src/nccl/comm_config.h"
#include "src/nccl/environment.h"
#include "src/nccl/failures.h"
#include "src/nccl/placement.h"
#include "src/nccl/thread_group.h"
#include "src/nccl/values.h"
#include "src/program_memory.h"

namespace rondo::nccl {

namespace {

/// Handles are Rondo's own.
rondoComm_t asRondo(ncclComm_t comm) {
  return reinterpret_cast<rondoComm_t>(comm);
}

ncclComm_t asNccl(rondoComm_t comm) {
  return reinterpret_cast<ncclComm_t>(comm);
}

Status checkPresent(std::string_view name, const void* pointer) {
  if (pointer != nullptr) return {};
  return Status::invalidArgument("{} is NULL", name);
}

Status abortedAlready() {
  return Status::invalidUsage("the communicator was aborted, which ends all use of it");
}

/// `body`, a call of Rondo's, on a communicator that must not be freed meanwhile.
template <class Body>
ncclResult_t withCall(const char* function, ncclComm_t comm, const Body& body) {
  const Underway underway(asRondo(comm));
  if (!underway.allowed()) return conclude(function, abortedAlready());
  return toNccl(body());
}

/// Whether calls of the communicator, which is on a device, wait for other ranks.
bool waitsOnDevice(rondoComm_t comm) {
  const Result<Communicator*> communicator = findCommunicator(comm);
  return communicator.ok() && (*communicator)->onDevice() && (*communicator)->worker() == nullptr;
}

/// Whether calls of a communicator with those wishes wait for other ranks.
/// @errors those of loadConfig()
Result<bool> wouldWait(const rondoConfig_t& settings) {
  const Result<Config> config = loadConfig(&settings, processEnvironment());
  RONDO_RETURN_IF_ERROR(config.status());
  return config->blocking;
}

bool isHandle(rondoResult_t result) {
  return result == rondoSuccess || result == rondoInProgress;
}

/// withCall() for an operation, which may be part of a group. `body` owns its arguments.
template <class Body>
ncclResult_t operate(const char* function, ncclComm_t comm, const Body& body) {
  ThreadGroup& group = ThreadGroup::ofThread();
  if (group.collecting() && waitsOnDevice(asRondo(comm))) {
    group.addOnDevice(asRondo(comm), body);
    return ncclSuccess;
  }
  group.include(asRondo(comm));
  return withCall(function, comm, body);
}

/// Runs `body`, which takes Rondo's handle, and hands the handle on if there is one.
template <class Body>
rondoResult_t makeHandle(ncclComm_t* to, const Body& body) {
  rondoComm_t made = nullptr;
  const rondoResult_t result = body(&made);
  if (isHandle(result)) *to = asNccl(made);
  return result;
}

ncclResult_t initRank(const char* function,
                      ncclComm_t* comm,
                      int ranks,
                      const ncclUniqueId& id,
                      int rank,
                      const ncclConfig_t* config) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t prepared = guarded(function, [&]() -> Status {
    adoptEnvironment();
    RONDO_RETURN_IF_ERROR(checkPresent("comm", comm));
    Result<CommWishes> wishes = readConfig(config);
    RONDO_RETURN_IF_ERROR(wishes.status());
    wishes->device = currentDevice();
    rondoUniqueId_t meeting;
    static_assert(sizeof meeting.bytes == sizeof id.internal);
    std::memcpy(meeting.bytes, id.internal, sizeof meeting.bytes);
    const Result<bool> waits = wouldWait(wishes->toRondo());
    RONDO_RETURN_IF_ERROR(waits.status());
    const auto make = [comm, ranks, meeting, rank, wishes = *wishes] {
      const rondoConfig_t settings = wishes.toRondo();
      return makeHandle(comm, [&](rondoComm_t* made) {
        return rondoCommInitRank(made, ranks, meeting, rank, &settings);
      });
    };
    result = ThreadGroup::ofThread().make(make, *waits);
    return {};
  });
  return prepared == ncclSuccess ? result : prepared;
}

/// All ranks in this process: on `devices`, or where there is none on the host.
rondoResult_t makeAll(rondoComm_t* made, int ranks, const int* devices, bool onHost) {
  if (onHost) return rondoCommInitAll(made, ranks, nullptr);
  if (devices != nullptr) return rondoCommInitAllOnDevices(made, ranks, devices, nullptr);
  std::vector<int> first(ranks > 0 ? static_cast<std::size_t>(ranks) : 0);
  std::iota(first.begin(), first.end(), 0);
  return rondoCommInitAllOnDevices(made, ranks, first.data(), nullptr);
}

ncclResult_t initAll(const char* function, ncclComm_t* comms, int ranks, const int* devices) {
  rondoResult_t result = rondoSuccess;
  const ncclResult_t prepared = guarded(function, [&]() -> Status {
    adoptEnvironment();
    RONDO_RETURN_IF_ERROR(checkPresent("comm", comms));
    const Result<std::optional<int>> device = chosenDevice();
    RONDO_RETURN_IF_ERROR(device.status());
    std::vector<rondoComm_t> made(ranks > 0 ? static_cast<std::size_t>(ranks) : 0);
    result = makeAll(made.data(), ranks, devices, !device->has_value());
    if (result == rondoSuccess) std::ranges::transform(made, comms, asNccl);
    return {};
  });
  return prepared == ncclSuccess ? toNccl(result) : prepared;
}

/// wouldWait() for a part of `comm`, which is like it unless the program wishes something.
Result<bool> splitWaits(rondoComm_t comm, const CommWishes& wishes) {
  if (wishes.any()) return wouldWait(wishes.toRondo());
  const Result<Communicator*> communicator = findCommunicator(comm);
  RONDO_RETURN_IF_ERROR(communicator.status());
  return (*communicator)->config().blocking;
}

ncclResult_t split(const char* function,
                   ncclComm_t comm,
                   int color,
                   int key,
                   ncclComm_t* newComm,
                   const ncclConfig_t* config) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t prepared = guarded(function, [&]() -> Status {
    RONDO_RETURN_IF_ERROR(checkPresent("newcomm", newComm));
    const Result<CommWishes> wishes = readConfig(config);
    RONDO_RETURN_IF_ERROR(wishes.status());
    const Result<bool> waits = splitWaits(asRondo(comm), *wishes);
    RONDO_RETURN_IF_ERROR(waits.status());
    const auto make = [=, wishes = *wishes] {
      const Underway underway(asRondo(comm));
      if (!underway.allowed()) {
        conclude(function, abortedAlready());
        return rondoInvalidUsage;
      }
      // Without a wish of its own the new communicator is like the old one.
      const rondoConfig_t settings = wishes.toRondo();
      return makeHandle(newComm, [&](rondoComm_t* made) {
        return rondoCommSplit(asRondo(comm), color, key, made, wishes.any() ? &settings : nullptr);
      });
    };
    result = ThreadGroup::ofThread().make(make, *waits);
    return {};
  });
  return prepared == ncclSuccess ? result : prepared;
}

/// How long calls that were aborted may take to return. They look every few milliseconds; only a
/// processor that is given to others for long makes them late.
constexpr std::chrono::seconds kAbortPatience{30};

ncclResult_t abortAndFree(const char* function, rondoComm_t comm) {
  const rondoResult_t aborted = rondoCommAbort(comm);
  if (aborted != rondoSuccess) return toNccl(aborted);
  CallsUnderway& calls = CallsUnderway::ofProcess();
  if (!calls.retire(comm, kAbortPatience)) {
    return conclude(function,
                    Status::internal("calls on the aborted communicator are still underway after "
                                     "{} s; it is not freed",
                                     kAbortPatience.count()));
  }
  const rondoResult_t destroyed = rondoCommDestroy(comm);
  calls.forget(comm);
  return toNccl(destroyed);
}

ncclResult_t notThere(const char* function, std::string_view instead) {
  return conclude(function, Status::notSupported("not there in Rondo; {}", instead));
}

}  // namespace

}  // namespace rondo::nccl

using rondo::Status;
using rondo::nccl::asRondo;
using rondo::nccl::operate;
using rondo::nccl::ThreadGroup;
using rondo::nccl::toRondo;

extern "C" {

// ---- the library --------------------------------------------------------------------------------

ncclResult_t pncclGetVersion(int* version) {
  return rondo::nccl::guarded("ncclGetVersion", [&]() -> Status {
    RONDO_RETURN_IF_ERROR(rondo::nccl::checkPresent("version", version));
    *version = NCCL_VERSION_CODE;
    return {};
  });
}

const char* pncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "success";
    case ncclUnhandledCudaError:
      return "a call of CUDA failed";
    case ncclSystemError:
      return "a call of the system or of CUDA failed, or memory ran out";
    case ncclInternalError:
      return "a fault of the library";
    case ncclInvalidArgument:
      return "an argument is never right, or not for this communicator";
    case ncclInvalidUsage:
      return "a call at a wrong time, that other ranks did not make, or that is not supported";
    case ncclRemoteError:
      return "another rank died, did not come in time, or aborted";
    case ncclInProgress:
      return "the work goes on in the background";
    default:
      return "no result of this library";
  }
}

const char* pncclGetLastError(ncclComm_t comm) {
  const char* const own = rondoGetLastError(asRondo(comm));
  return *own != '\0' ? own : rondoGetLastError(nullptr);
}

void pncclResetDebugInit(void) {}

ncclResult_t pncclMemAlloc(void** ptr, size_t size) {
  return rondo::nccl::guarded("ncclMemAlloc", [&]() -> Status {
    rondo::nccl::adoptEnvironment();
    RONDO_RETURN_IF_ERROR(rondo::nccl::checkPresent("ptr", ptr));
    const rondo::Result<std::optional<int>> device = rondo::nccl::chosenDevice();
    RONDO_RETURN_IF_ERROR(device.status());
    const rondo::Result<void*> memory = rondo::allocateMemory(size, *device);
    RONDO_RETURN_IF_ERROR(memory.status());
    *ptr = *memory;
    return {};
  });
}

ncclResult_t pncclMemFree(void* ptr) {
  return rondo::nccl::guarded("ncclMemFree", [&] { return rondo::freeMemory(ptr); });
}

// ---- communicators ------------------------------------------------------------------------------

ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId) {
  rondo::nccl::adoptEnvironment();
  rondoUniqueId_t made;
  const rondoResult_t result = rondoGetUniqueId(uniqueId != nullptr ? &made : nullptr);
  if (result == rondoSuccess) std::memcpy(uniqueId->internal, made.bytes, sizeof made.bytes);
  return rondo::nccl::toNccl(result);
}

ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return rondo::nccl::initRank("ncclCommInitRank", comm, nranks, commId, rank, nullptr);
}

ncclResult_t pncclCommInitRankConfig(
    ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  return rondo::nccl::initRank("ncclCommInitRankConfig", comm, nranks, commId, rank, config);
}

ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm,
                                       int nranks,
                                       int myrank,
                                       int nId,
                                       ncclUniqueId* commIds,
                                       ncclConfig_t* config) {
  constexpr const char* kName = "ncclCommInitRankScalable";
  if (nId < 1 || commIds == nullptr) {
    return rondo::nccl::conclude(kName,
                                 Status::invalidArgument("{} ids at {}; pass one or more", nId,
                                                         static_cast<const void*>(commIds)));
  }
  return rondo::nccl::initRank(kName, newcomm, nranks, *commIds, myrank, config);
}

ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return rondo::nccl::initAll("ncclCommInitAll", comm, ndev, devlist);
}

ncclResult_t pncclCommSplit(
    ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  return rondo::nccl::split("ncclCommSplit", comm, color, key, newcomm, config);
}

ncclResult_t pncclCommShrink(ncclComm_t /*comm*/,
                             int* /*excludeRanksList*/,
                             int /*excludeRanksCount*/,
                             ncclComm_t* /*newcomm*/,
                             ncclConfig_t* /*config*/,
                             int /*shrinkFlags*/) {
  return rondo::nccl::notThere("ncclCommShrink",
                               "make a communicator of the ranks that remain with a new id");
}

ncclResult_t pncclCommRevoke(ncclComm_t /*comm*/, int /*revokeFlags*/) {
  return rondo::nccl::notThere("ncclCommRevoke", "abort the communicator and make a new one");
}

ncclResult_t pncclCommFinalize(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return rondo::nccl::withCall("ncclCommFinalize", comm,
                               [&] { return rondoCommFinalize(asRondo(comm)); });
}

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
  return rondo::nccl::toNccl(rondoCommDestroy(asRondo(comm)));
}

ncclResult_t pncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return rondo::nccl::abortAndFree("ncclCommAbort", asRondo(comm));
}

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  rondoResult_t failure = rondoSuccess;
  const ncclResult_t result = rondo::nccl::withCall("ncclCommGetAsyncError", comm, [&] {
    return rondoCommGetAsyncError(asRondo(comm), asyncError != nullptr ? &failure : nullptr);
  });
  if (result == ncclSuccess) *asyncError = rondo::nccl::toNccl(failure);
  return result;
}

ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
  return rondo::nccl::withCall("ncclCommCount", comm,
                               [&] { return rondoCommCount(asRondo(comm), count); });
}

ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
  return rondo::nccl::withCall("ncclCommUserRank", comm,
                               [&] { return rondoCommRank(asRondo(comm), rank); });
}

ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
  const rondo::nccl::Underway underway(asRondo(comm));
  return rondo::nccl::guarded("ncclCommCuDevice", [&]() -> Status {
    if (!underway.allowed()) return rondo::nccl::abortedAlready();
    RONDO_RETURN_IF_ERROR(rondo::nccl::checkPresent("device", device));
    const rondo::Result<rondo::Communicator*> communicator = rondo::findCommunicator(asRondo(comm));
    RONDO_RETURN_IF_ERROR(communicator.status());
    *device = (*communicator)->device().value_or(-1);
    return {};
  });
}

// ---- registration
// -----------------------------------------------------------------------------

ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return rondo::nccl::guarded("ncclCommRegister", [&]() -> Status {
    const rondo::Result<rondo::Communicator*> communicator = rondo::findCommunicator(asRondo(comm));
    RONDO_RETURN_IF_ERROR(communicator.status());
    RONDO_RETURN_IF_ERROR(rondo::nccl::checkPresent("handle", handle));
    const rondo::Result<std::uint64_t> made = (*communicator)->registerMemory(buff, size);
    RONDO_RETURN_IF_ERROR(made.status());
    *handle = reinterpret_cast<void*>(*made);
    return {};
  });
}

ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle) {
  return rondo::nccl::guarded("ncclCommDeregister", [&]() -> Status {
    const rondo::Result<rondo::Communicator*> communicator = rondo::findCommunicator(asRondo(comm));
    RONDO_RETURN_IF_ERROR(communicator.status());
    return (*communicator)->deregister(reinterpret_cast<std::uint64_t>(handle));
  });
}

ncclResult_t pncclCommWindowRegister(
    ncclComm_t comm, void* /*buff*/, size_t /*size*/, ncclWindow_t* win, int /*winFlags*/) {
  return rondo::nccl::guarded("ncclCommWindowRegister", [&]() -> Status {
    RONDO_RETURN_IF_ERROR(rondo::findCommunicator(asRondo(comm)).status());
    RONDO_RETURN_IF_ERROR(rondo::nccl::checkPresent("win", win));
    *win = nullptr;
    return {};
  });
}

ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return rondo::nccl::guarded("ncclCommWindowDeregister", [&]() -> Status {
    RONDO_RETURN_IF_ERROR(rondo::findCommunicator(asRondo(comm)).status());
    if (win == nullptr) return {};
    return Status::invalidArgument("window {} was never registered", static_cast<const void*>(win));
  });
}

// ---- reductions ---------------------------------------------------------------------------------

ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op,
                                       void* scalar,
                                       ncclDataType_t datatype,
                                       ncclScalarResidence_t residence,
                                       ncclComm_t comm) {
  return rondo::nccl::withCall("ncclRedOpCreatePreMulSum", comm, [&] {
    rondoRedOp_t made{};
    const rondoResult_t result =
        rondoRedOpCreatePreMulSum(op != nullptr ? &made : nullptr, scalar, toRondo(datatype),
                                  toRondo(residence), asRondo(comm));
    if (result == rondoSuccess) *op = static_cast<ncclRedOp_t>(made);
    return result;
  });
}

ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return rondo::nccl::withCall("ncclRedOpDestroy", comm,
                               [&] { return rondoRedOpDestroy(toRondo(op), asRondo(comm)); });
}

// ---- operations ---------------------------------------------------------------------------------

ncclResult_t pncclReduce(const void* sendbuff,
                         void* recvbuff,
                         size_t count,
                         ncclDataType_t datatype,
                         ncclRedOp_t op,
                         int root,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  return operate("ncclReduce", comm, [=] {
    return rondoReduce(sendbuff, recvbuff, count, toRondo(datatype), toRondo(op), root,
                       asRondo(comm), stream);
  });
}

ncclResult_t pncclBroadcast(const void* sendbuff,
                            void* recvbuff,
                            size_t count,
                            ncclDataType_t datatype,
                            int root,
                            ncclComm_t comm,
                            cudaStream_t stream) {
  return operate("ncclBroadcast", comm, [=] {
    return rondoBroadcast(sendbuff, recvbuff, count, toRondo(datatype), root, asRondo(comm),
                          stream);
  });
}

ncclResult_t pncclBcast(void* buff,
                        size_t count,
                        ncclDataType_t datatype,
                        int root,
                        ncclComm_t comm,
                        cudaStream_t stream) {
  return pncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

ncclResult_t pncclAllReduce(const void* sendbuff,
                            void* recvbuff,
                            size_t count,
                            ncclDataType_t datatype,
                            ncclRedOp_t op,
                            ncclComm_t comm,
                            cudaStream_t stream) {
  return operate("ncclAllReduce", comm, [=] {
    return rondoAllReduce(sendbuff, recvbuff, count, toRondo(datatype), toRondo(op), asRondo(comm),
                          stream);
  });
}

ncclResult_t pncclReduceScatter(const void* sendbuff,
                                void* recvbuff,
                                size_t recvcount,
                                ncclDataType_t datatype,
                                ncclRedOp_t op,
                                ncclComm_t comm,
                                cudaStream_t stream) {
  return operate("ncclReduceScatter", comm, [=] {
    return rondoReduceScatter(sendbuff, recvbuff, recvcount, toRondo(datatype), toRondo(op),
                              asRondo(comm), stream);
  });
}

ncclResult_t pncclAllGather(const void* sendbuff,
                            void* recvbuff,
                            size_t sendcount,
                            ncclDataType_t datatype,
                            ncclComm_t comm,
                            cudaStream_t stream) {
  return operate("ncclAllGather", comm, [=] {
    return rondoAllGather(sendbuff, recvbuff, sendcount, toRondo(datatype), asRondo(comm), stream);
  });
}

ncclResult_t pncclAlltoAll(const void* sendbuff,
                           void* recvbuff,
                           size_t count,
                           ncclDataType_t datatype,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return operate("ncclAlltoAll", comm, [=] {
    return rondoAllToAll(sendbuff, recvbuff, count, toRondo(datatype), asRondo(comm), stream);
  });
}

ncclResult_t pncclGather(const void* sendbuff,
                         void* recvbuff,
                         size_t count,
                         ncclDataType_t datatype,
                         int root,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  return operate("ncclGather", comm, [=] {
    return rondoGather(sendbuff, recvbuff, count, toRondo(datatype), root, asRondo(comm), stream);
  });
}

ncclResult_t pncclScatter(const void* sendbuff,
                          void* recvbuff,
                          size_t count,
                          ncclDataType_t datatype,
                          int root,
                          ncclComm_t comm,
                          cudaStream_t stream) {
  return operate("ncclScatter", comm, [=] {
    return rondoScatter(sendbuff, recvbuff, count, toRondo(datatype), root, asRondo(comm), stream);
  });
}

ncclResult_t pncclSend(const void* sendbuff,
                       size_t count,
                       ncclDataType_t datatype,
                       int peer,
                       ncclComm_t comm,
                       cudaStream_t stream) {
  return operate("ncclSend", comm, [=] {
    return rondoSend(sendbuff, count, toRondo(datatype), peer, asRondo(comm), stream);
  });
}

ncclResult_t pncclRecv(void* recvbuff,
                       size_t count,
                       ncclDataType_t datatype,
                       int peer,
                       ncclComm_t comm,
                       cudaStream_t stream) {
  return operate("ncclRecv", comm, [=] {
    return rondoRecv(recvbuff, count, toRondo(datatype), peer, asRondo(comm), stream);
  });
}

// ---- groups -------------------------------------------------------------------------------------

ncclResult_t pncclGroupStart(void) {
  ThreadGroup::ofThread().start();
  return ncclSuccess;
}

ncclResult_t pncclGroupEnd(void) {
  return ThreadGroup::ofThread().end();
}

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* /*simInfo*/) {
  const ncclResult_t cancelled = ThreadGroup::ofThread().cancel();
  if (cancelled != ncclSuccess) return cancelled;
  return rondo::nccl::notThere("ncclGroupSimulateEnd", "the group was ended without its calls");
}

// ---- the names that a profiler may replace ------------------------------------------------------

#define RONDO_NCCL_WEAK(name) \
  extern decltype(pnccl##name) nccl##name __attribute__((weak, alias("pnccl" #name)))

RONDO_NCCL_WEAK(GetVersion);
RONDO_NCCL_WEAK(GetErrorString);
RONDO_NCCL_WEAK(GetLastError);
RONDO_NCCL_WEAK(ResetDebugInit);
RONDO_NCCL_WEAK(MemAlloc);
RONDO_NCCL_WEAK(MemFree);
RONDO_NCCL_WEAK(GetUniqueId);
RONDO_NCCL_WEAK(CommInitRank);
RONDO_NCCL_WEAK(CommInitRankConfig);
RONDO_NCCL_WEAK(CommInitRankScalable);
RONDO_NCCL_WEAK(CommInitAll);
RONDO_NCCL_WEAK(CommSplit);
RONDO_NCCL_WEAK(CommShrink);
RONDO_NCCL_WEAK(CommRevoke);
RONDO_NCCL_WEAK(CommFinalize);
RONDO_NCCL_WEAK(CommDestroy);
RONDO_NCCL_WEAK(CommAbort);
RONDO_NCCL_WEAK(CommGetAsyncError);
RONDO_NCCL_WEAK(CommCount);
RONDO_NCCL_WEAK(CommUserRank);
RONDO_NCCL_WEAK(CommCuDevice);
RONDO_NCCL_WEAK(CommRegister);
RONDO_NCCL_WEAK(CommDeregister);
RONDO_NCCL_WEAK(CommWindowRegister);
RONDO_NCCL_WEAK(CommWindowDeregister);
RONDO_NCCL_WEAK(RedOpCreatePreMulSum);
RONDO_NCCL_WEAK(RedOpDestroy);
RONDO_NCCL_WEAK(Reduce);
RONDO_NCCL_WEAK(Bcast);
RONDO_NCCL_WEAK(Broadcast);
RONDO_NCCL_WEAK(AllReduce);
RONDO_NCCL_WEAK(ReduceScatter);
RONDO_NCCL_WEAK(AllGather);
RONDO_NCCL_WEAK(AlltoAll);
RONDO_NCCL_WEAK(Gather);
RONDO_NCCL_WEAK(Scatter);
RONDO_NCCL_WEAK(Send);
RONDO_NCCL_WEAK(Recv);
RONDO_NCCL_WEAK(GroupStart);
RONDO_NCCL_WEAK(GroupEnd);
RONDO_NCCL_WEAK(GroupSimulateEnd);

}  // extern "C"
