/* What happens to communicators besides operations: questions, wrong calls, parts, and ends. */
#include <stdint.h>
#include <string.h>

#include "client.h"

static void askQuestions(ncclComm_t comm, int rank, int ranks) {
  int number = -2;
  ncclResult_t failure = ncclInternalError;
  CHECK_OK(ncclGetVersion(&number));
  CHECK(number == NCCL_VERSION_CODE);
  CHECK_OK(ncclCommCount(comm, &number));
  CHECK(number == ranks);
  CHECK_OK(ncclCommUserRank(comm, &number));
  CHECK(number == rank);
  CHECK_OK(ncclCommCuDevice(comm, &number));
  CHECK(number == -1);
  CHECK_OK(ncclCommGetAsyncError(comm, &failure));
  CHECK(failure == ncclSuccess);
  for (int result = ncclSuccess; result <= ncclNumResults; ++result)
    CHECK(strlen(ncclGetErrorString((ncclResult_t)result)) > 0);
}

/* Each is refused with a reason, and leaves the communicator usable. */
static void makeMistakes(ncclComm_t comm, int ranks) {
  float element = 0;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  CHECK(ncclSend(&element, 1, ncclFloat, ranks, comm, NULL) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(comm), "peer") != NULL);
  CHECK(ncclSend(&element, 1, ncclNumTypes, 0, comm, NULL) == ncclInvalidArgument);
  CHECK(ncclSend(&element, 1, ncclFloat, 0, comm, (cudaStream_t)&element) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(comm), "stream") != NULL);
  CHECK(ncclCommCount(NULL, &ranks) == ncclInvalidArgument);
  CHECK(ncclGetVersion(NULL) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT) == ncclInvalidUsage);
  CHECK(strstr(ncclGetLastError(NULL), "not there") != NULL);
  CHECK(ncclCommShrink(comm, NULL, 0, NULL, NULL, NCCL_SHRINK_DEFAULT) == ncclInvalidUsage);
  CHECK_OK(ncclGroupStart());
  CHECK(ncclGroupSimulateEnd(&info) == ncclInvalidUsage);
}

static void refuseConfigs(void) {
  ncclUniqueId id;
  ncclComm_t comm = NULL;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  memset(&id, 0, sizeof id);
  config.magic = 0;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "NCCL_CONFIG_INITIALIZER") != NULL);
  config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
  config.blocking = 2;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "blocking") != NULL);
  CHECK(comm == NULL);
}

/* Ranks of the same parity, in reverse order; the last rank of all is in no part. */
static void splitByParity(ncclComm_t comm, int rank, int ranks) {
  ncclComm_t part = NULL;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  const int out = rank == ranks - 1;
  int32_t sum = rank;
  config.commName = "a part";
  CHECK_OK(ncclCommSplit(comm, out ? NCCL_SPLIT_NOCOLOR : rank % 2, -rank, &part, &config));
  CHECK((part == NULL) == (out != 0));
  if (out) return;
  int32_t expected = 0;
  int before = 0;
  int members = 0;
  for (int other = rank % 2; other < ranks - 1; other += 2) {
    expected += other;
    before += other > rank;
    ++members;
  }
  int number = -1;
  CHECK_OK(ncclCommUserRank(part, &number));
  CHECK(number == before);
  CHECK_OK(ncclCommCount(part, &number));
  CHECK(number == members);
  CHECK_OK(ncclAllReduce(&sum, &sum, 1, ncclInt, ncclSum, part, NULL));
  CHECK(sum == expected);
  CHECK_OK(ncclCommFinalize(part));
  CHECK_OK(ncclCommDestroy(part));
  CHECK(ncclCommDestroy(part) == ncclInvalidUsage);
}

/* An abort ends what other ranks wait for, and frees the own handle. */
static void abortOne(ncclComm_t comm, int rank) {
  ncclComm_t same = NULL;
  int32_t element = 1;
  CHECK_OK(ncclCommSplit(comm, 0, rank, &same, NULL));
  /* When this is done, all ranks have theirs. */
  CHECK_OK(ncclAllReduce(&element, &element, 1, ncclInt, ncclMax, comm, NULL));
  if (rank == 0) {
    CHECK_OK(ncclCommAbort(same));
    CHECK(ncclAllReduce(&element, &element, 1, ncclInt, ncclSum, same, NULL) == ncclInvalidUsage);
    return;
  }
  ncclResult_t failure = ncclSuccess;
  CHECK(ncclAllReduce(&element, &element, 1, ncclInt, ncclSum, same, NULL) == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(same), "abort") != NULL);
  CHECK_OK(ncclCommGetAsyncError(same, &failure));
  CHECK(failure == ncclRemoteError);
  CHECK_OK(ncclCommAbort(same));
}

void runLifecycle(ncclComm_t comm, int rank, int ranks) {
  askQuestions(comm, rank, ranks);
  makeMistakes(comm, ranks);
  refuseConfigs();
  splitByParity(comm, rank, ranks);
  abortOne(comm, rank);
}
