/* The numbers, layouts and signatures of NCCL's interface, as the compiler sees them in the header
 * that is found as <nccl.h>. Compiled once with Rondo's and, where it is installed, once with
 * NVIDIA's: what holds for both is the same in both. Nobody runs it. */
#include <limits.h>
#include <nccl.h>
#include <stddef.h>

#define SAME(a, b) _Static_assert((a) == (b), #a " is not " #b)

SAME(NCCL_VERSION_CODE, 22809);
SAME(NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), 22809);
SAME(NCCL_VERSION(2, 8, 4), 2804);
SAME(NCCL_VERSION(2, 9, 1), 20901);

SAME(sizeof(ncclUniqueId), 128);
SAME(sizeof(ncclComm_t), sizeof(void*));
SAME(sizeof(ncclWindow_t), sizeof(void*));

SAME(sizeof(ncclResult_t), 4);
SAME(ncclSuccess, 0);
SAME(ncclUnhandledCudaError, 1);
SAME(ncclSystemError, 2);
SAME(ncclInternalError, 3);
SAME(ncclInvalidArgument, 4);
SAME(ncclInvalidUsage, 5);
SAME(ncclRemoteError, 6);
SAME(ncclInProgress, 7);
SAME(ncclNumResults, 8);

SAME(sizeof(ncclDataType_t), 4);
SAME(ncclInt8, 0);
SAME(ncclChar, 0);
SAME(ncclUint8, 1);
SAME(ncclInt32, 2);
SAME(ncclInt, 2);
SAME(ncclUint32, 3);
SAME(ncclInt64, 4);
SAME(ncclUint64, 5);
SAME(ncclFloat16, 6);
SAME(ncclHalf, 6);
SAME(ncclFloat32, 7);
SAME(ncclFloat, 7);
SAME(ncclFloat64, 8);
SAME(ncclDouble, 8);
SAME(ncclBfloat16, 9);
SAME(ncclFloat8e4m3, 10);
SAME(ncclFloat8e5m2, 11);
SAME(ncclNumTypes, 12);

SAME(sizeof(ncclRedOp_t), 4);
SAME(ncclSum, 0);
SAME(ncclProd, 1);
SAME(ncclMax, 2);
SAME(ncclMin, 3);
SAME(ncclAvg, 4);
SAME(ncclNumOps, 5);
SAME(ncclMaxRedOp, 0x7fffffff);

SAME(sizeof(ncclScalarResidence_t), 4);
SAME(ncclScalarDevice, 0);
SAME(ncclScalarHostImmediate, 1);

SAME(NCCL_CONFIG_UNDEF_INT, INT_MIN);
SAME(NCCL_SPLIT_NOCOLOR, -1);
SAME(NCCL_WIN_DEFAULT, 0);
SAME(NCCL_WIN_COLL_SYMMETRIC, 1);
SAME(NCCL_WIN_REQUIRED_ALIGNMENT, 4096);
SAME(NCCL_CTA_POLICY_DEFAULT, 0);
SAME(NCCL_CTA_POLICY_EFFICIENCY, 1);
SAME(NCCL_CTA_POLICY_ZERO, 2);
SAME(NCCL_SHRINK_DEFAULT, 0);
SAME(NCCL_SHRINK_ABORT, 1);
SAME(NCCL_REVOKE_DEFAULT, 0);

SAME(offsetof(ncclConfig_t, size), 0);
SAME(offsetof(ncclConfig_t, magic), 8);
SAME(offsetof(ncclConfig_t, version), 12);
SAME(offsetof(ncclConfig_t, blocking), 16);
SAME(offsetof(ncclConfig_t, cgaClusterSize), 20);
SAME(offsetof(ncclConfig_t, minCTAs), 24);
SAME(offsetof(ncclConfig_t, maxCTAs), 28);
SAME(offsetof(ncclConfig_t, netName), 32);
SAME(offsetof(ncclConfig_t, splitShare), 40);
SAME(offsetof(ncclConfig_t, trafficClass), 44);
SAME(offsetof(ncclConfig_t, commName), 48);
SAME(offsetof(ncclConfig_t, collnetEnable), 56);
SAME(offsetof(ncclConfig_t, CTAPolicy), 60);
SAME(offsetof(ncclConfig_t, shrinkShare), 64);
SAME(offsetof(ncclConfig_t, nvlsCTAs), 68);
SAME(offsetof(ncclConfig_t, nChannelsPerNetPeer), 72);
SAME(offsetof(ncclConfig_t, nvlinkCentricSched), 76);
SAME(sizeof(ncclConfig_t), 80);

SAME(offsetof(ncclSimInfo_t, magic), 8);
SAME(offsetof(ncclSimInfo_t, version), 12);
SAME(offsetof(ncclSimInfo_t, estimatedTime), 16);
SAME(sizeof(ncclSimInfo_t), 24);

/* A function and its twin have this signature, or the assignment does not compile. */
#define HAS(name, type, parameters)                                                       \
  static type(*const rondo_check_##name) parameters __attribute__((unused)) = nccl##name; \
  static type(*const rondo_check_p##name) parameters __attribute__((unused)) = pnccl##name

typedef ncclResult_t Result;
typedef ncclDataType_t Type;
typedef cudaStream_t Stream;

HAS(MemAlloc, Result, (void**, size_t));
HAS(MemFree, Result, (void*));
HAS(GetVersion, Result, (int*));
HAS(GetUniqueId, Result, (ncclUniqueId*));
HAS(CommInitRankConfig, Result, (ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*));
HAS(CommInitRank, Result, (ncclComm_t*, int, ncclUniqueId, int));
HAS(CommInitAll, Result, (ncclComm_t*, int, const int*));
HAS(CommFinalize, Result, (ncclComm_t));
HAS(CommDestroy, Result, (ncclComm_t));
HAS(CommAbort, Result, (ncclComm_t));
HAS(CommRevoke, Result, (ncclComm_t, int));
HAS(CommSplit, Result, (ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*));
HAS(CommShrink, Result, (ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int));
HAS(CommInitRankScalable, Result, (ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*));
HAS(GetErrorString, const char*, (ncclResult_t));
HAS(GetLastError, const char*, (ncclComm_t));
HAS(CommGetAsyncError, Result, (ncclComm_t, ncclResult_t*));
HAS(CommCount, Result, (ncclComm_t, int*));
HAS(CommCuDevice, Result, (ncclComm_t, int*));
HAS(CommUserRank, Result, (ncclComm_t, int*));
HAS(CommRegister, Result, (ncclComm_t, void*, size_t, void**));
HAS(CommDeregister, Result, (ncclComm_t, void*));
HAS(CommWindowRegister, Result, (ncclComm_t, void*, size_t, ncclWindow_t*, int));
HAS(CommWindowDeregister, Result, (ncclComm_t, ncclWindow_t));
HAS(RedOpCreatePreMulSum, Result, (ncclRedOp_t*, void*, Type, ncclScalarResidence_t, ncclComm_t));
HAS(RedOpDestroy, Result, (ncclRedOp_t, ncclComm_t));
HAS(Reduce, Result, (const void*, void*, size_t, Type, ncclRedOp_t, int, ncclComm_t, Stream));
HAS(Bcast, Result, (void*, size_t, Type, int, ncclComm_t, Stream));
HAS(Broadcast, Result, (const void*, void*, size_t, Type, int, ncclComm_t, Stream));
HAS(AllReduce, Result, (const void*, void*, size_t, Type, ncclRedOp_t, ncclComm_t, Stream));
HAS(ReduceScatter, Result, (const void*, void*, size_t, Type, ncclRedOp_t, ncclComm_t, Stream));
HAS(AllGather, Result, (const void*, void*, size_t, Type, ncclComm_t, Stream));
HAS(AlltoAll, Result, (const void*, void*, size_t, Type, ncclComm_t, Stream));
HAS(Gather, Result, (const void*, void*, size_t, Type, int, ncclComm_t, Stream));
HAS(Scatter, Result, (const void*, void*, size_t, Type, int, ncclComm_t, Stream));
HAS(Send, Result, (const void*, size_t, Type, int, ncclComm_t, Stream));
HAS(Recv, Result, (void*, size_t, Type, int, ncclComm_t, Stream));
HAS(GroupStart, Result, (void));
HAS(GroupEnd, Result, (void));
HAS(GroupSimulateEnd, Result, (ncclSimInfo_t*));

/* What the initialisers make, which no constant expression can tell. */
ncclConfig_t rondoCheckedConfig(void);

ncclConfig_t rondoCheckedConfig(void) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config;
}

ncclSimInfo_t rondoCheckedSimInfo(void);

ncclSimInfo_t rondoCheckedSimInfo(void) {
  const ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  return info;
}
