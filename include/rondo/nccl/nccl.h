// The interface of NVIDIA's NCCL 2.28.9 as Rondo's libnccl.so.2 provides it: programs that were
// compiled against NVIDIA's header run with that library unchanged, and those that are compiled
// against this one run with NVIDIA's. docs/porting-from-nccl.md says of each function what it does
// here. Put the folder of this file, include/rondo/nccl, before NVIDIA's, or do not use it at all.
//
// The rules of the collectives are in rondo/rondo.h. Where NCCL has rules of its own:
//
//   Where buffers lie   on the CUDA device that is current where a communicator is made, or where
//                       there is no driver, or RONDO_DEVICE is "host", in memory of the host.
//   Streams             on devices any; on the host only NULL, and a call returns when it is done.
//   Errors              of a call are told by its result, and ncclGetLastError has the reason.
//   Ownership           of handles, windows and memory is the caller's until it gives them back.
#ifndef RONDO_NCCL_NCCL_H_
#define RONDO_NCCL_NCCL_H_

// Some programs count on this header to declare what CUDA has; without CUDA only the stream.
#if defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define RONDO_NCCL_HAS_CUDA 1
#endif
#endif
#ifndef RONDO_NCCL_HAS_CUDA
typedef struct CUstream_st* cudaStream_t;
#endif

#include <limits.h>
#include <stddef.h>

/// The version of NCCL whose interface this is.
#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""
/// A version as one number that grows with it; the older ones had fewer digits.
#define NCCL_VERSION(major, minor, patch) \
  ((major) * ((major) <= 2 && (minor) <= 8 ? 1000 : 10000) + (minor)*100 + (patch))
#define NCCL_VERSION_CODE 22809

#ifdef __cplusplus
extern "C" {
#endif

/// One rank's communicator; opaque.
typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL

/// Memory that all ranks have registered; opaque. Rondo gives NULL.
typedef struct ncclWindow_vidmem* ncclWindow_t;

/// What ranks need to find each other; a secret.
#define NCCL_UNIQUE_ID_BYTES 128

typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

/// How a call ended. Which of Rondo's results becomes which is in docs/porting-from-nccl.md.
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
} ncclResult_t;

/// Values of what was not set, and choices of calls and of ncclConfig_t.
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00

/// What a program wishes of a communicator. Rondo heeds commName; the rest are hints to NCCL's own
/// machinery, and calls are blocking. Shorter structs, of older programs, are fine.
typedef struct ncclConfig_v22800 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
} ncclConfig_t;

/// A configuration in which nothing is set: size, magic, version, and the fields in their order.
#define NCCL_CONFIG_INITIALIZER                                                                    \
  {                                                                                                \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT,                    \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                       \
        NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                       \
        NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                       \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT \
  }

/// What ncclGroupSimulateEnd would tell.
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/// Reductions; from ncclNumOps on they are made at run time.
typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;

typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

/// Element types, some under two names.
typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/// Where the factor of a reduction lies, and when it is read.
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

// Every function is there twice: as ncclX, which a profiler may replace, and as pncclX.
#define RONDO_NCCL(type, name, parameters) \
  type nccl##name parameters;              \
  type pnccl##name parameters

/// The version of NCCL that the library stands for: 22809.
RONDO_NCCL(ncclResult_t, GetVersion, (int* version));
/// A few words about a result; static.
RONDO_NCCL(const char*, GetErrorString, (ncclResult_t result));
/// Why the calling thread's last call failed, of those on `comm` if there is one; valid until its
/// next call that fails.
RONDO_NCCL(const char*, GetLastError, (ncclComm_t comm));
/// Does nothing.
RONDO_NCCL(void, ResetDebugInit, (void));

/// Memory of the current device, or of the host, aligned for windows, to be freed with MemFree.
RONDO_NCCL(ncclResult_t, MemAlloc, (void** ptr, size_t size));
RONDO_NCCL(ncclResult_t, MemFree, (void* ptr));

/// Makes the id of a communicator to be; the process must live until all ranks have joined.
RONDO_NCCL(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId));
/// Make the communicator of one rank. In a group they only note it, and the group's end makes all.
RONDO_NCCL(ncclResult_t,
           CommInitRank,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank));
RONDO_NCCL(ncclResult_t,
           CommInitRankConfig,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config));
/// As CommInitRankConfig with the first of the ids.
RONDO_NCCL(ncclResult_t,
           CommInitRankScalable,
           (ncclComm_t * newcomm,
            int nranks,
            int myrank,
            int nId,
            ncclUniqueId* commIds,
            ncclConfig_t* config));
/// Makes the communicators of all ranks, in this process; `devlist` NULL means 0 to ndev - 1.
RONDO_NCCL(ncclResult_t, CommInitAll, (ncclComm_t * comm, int ndev, const int* devlist));
/// Makes communicators out of one, as rondoCommSplit does. A group's end makes those of the group.
RONDO_NCCL(ncclResult_t,
           CommSplit,
           (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config));
/// Not there: ncclInvalidUsage.
RONDO_NCCL(ncclResult_t,
           CommShrink,
           (ncclComm_t comm,
            int* excludeRanksList,
            int excludeRanksCount,
            ncclComm_t* newcomm,
            ncclConfig_t* config,
            int shrinkFlags));
/// Not there: ncclInvalidUsage.
RONDO_NCCL(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags));
/// Leaves a communicator in good order; only CommDestroy may follow.
RONDO_NCCL(ncclResult_t, CommFinalize, (ncclComm_t comm));
/// Frees a communicator that no call uses.
RONDO_NCCL(ncclResult_t, CommDestroy, (ncclComm_t comm));
/// Ends all ranks' calls on a communicator with an error, and frees this rank's. From any thread.
RONDO_NCCL(ncclResult_t, CommAbort, (ncclComm_t comm));
/// Tells why a communicator became unusable, without waiting; ncclSuccess if it did not.
RONDO_NCCL(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError));
RONDO_NCCL(ncclResult_t, CommCount, (ncclComm_t comm, int* count));
/// The number of the communicator's CUDA device, or -1 if its buffers are in memory of the host.
RONDO_NCCL(ncclResult_t, CommCuDevice, (ncclComm_t comm, int* device));
RONDO_NCCL(ncclResult_t, CommUserRank, (ncclComm_t comm, int* rank));

/// Succeed without effect: Rondo registers what it needs by itself. The handle is the buffer.
RONDO_NCCL(ncclResult_t, CommRegister, (ncclComm_t comm, void* buff, size_t size, void** handle));
RONDO_NCCL(ncclResult_t, CommDeregister, (ncclComm_t comm, void* handle));
/// Succeeds with the window NULL, which is NCCL's answer too where windows cannot be had.
RONDO_NCCL(ncclResult_t,
           CommWindowRegister,
           (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags));
RONDO_NCCL(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win));

/// A sum whose summands are multiplied by a factor first; ncclScalarHostImmediate only.
RONDO_NCCL(ncclResult_t,
           RedOpCreatePreMulSum,
           (ncclRedOp_t * op,
            void* scalar,
            ncclDataType_t datatype,
            ncclScalarResidence_t residence,
            ncclComm_t comm));
RONDO_NCCL(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm));

// The operations: rondo/rondo.h has one of the same name for each, with the same arguments.
RONDO_NCCL(ncclResult_t,
           Reduce,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            ncclRedOp_t op,
            int root,
            ncclComm_t comm,
            cudaStream_t stream));
/// Broadcast in place.
RONDO_NCCL(ncclResult_t,
           Bcast,
           (void* buff,
            size_t count,
            ncclDataType_t datatype,
            int root,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           Broadcast,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            int root,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           AllReduce,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            ncclRedOp_t op,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           ReduceScatter,
           (const void* sendbuff,
            void* recvbuff,
            size_t recvcount,
            ncclDataType_t datatype,
            ncclRedOp_t op,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           AllGather,
           (const void* sendbuff,
            void* recvbuff,
            size_t sendcount,
            ncclDataType_t datatype,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           AlltoAll,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           Gather,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            int root,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           Scatter,
           (const void* sendbuff,
            void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            int root,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           Send,
           (const void* sendbuff,
            size_t count,
            ncclDataType_t datatype,
            int peer,
            ncclComm_t comm,
            cudaStream_t stream));
RONDO_NCCL(ncclResult_t,
           Recv,
           (void* recvbuff,
            size_t count,
            ncclDataType_t datatype,
            int peer,
            ncclComm_t comm,
            cudaStream_t stream));

/// Begin and end a group of calls: rondoGroupStart has the rules. Communicators that calls of a
/// group make are there when it has ended.
RONDO_NCCL(ncclResult_t, GroupStart, (void));
RONDO_NCCL(ncclResult_t, GroupEnd, (void));
/// Ends a group without carrying it out, and with ncclInvalidUsage: there is no estimate.
RONDO_NCCL(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo));

#undef RONDO_NCCL

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // RONDO_NCCL_NCCL_H_
