/* The operations, with inputs whose results every type represents, so that bits are compared. */
#include <stdint.h>
#include <string.h>

#include "client.h"

enum { kCount = 37, kMostRanks = 8 };

/* How a floating-point type is laid out; no exponent bits: an integer. */
struct Format {
  ncclDataType_t type;
  size_t bytes;
  int exponentBits;
  int mantissaBits;
};

static const struct Format kFormats[] = {
    {ncclInt8, 1, 0, 0},     {ncclUint8, 1, 0, 0},      {ncclInt32, 4, 0, 0},
    {ncclUint32, 4, 0, 0},   {ncclInt64, 8, 0, 0},      {ncclUint64, 8, 0, 0},
    {ncclFloat16, 2, 5, 10}, {ncclFloat32, 4, 8, 23},   {ncclFloat64, 8, 11, 52},
    {ncclBfloat16, 2, 8, 7}, {ncclFloat8e4m3, 1, 4, 3}, {ncclFloat8e5m2, 1, 5, 2},
};

/* The bits of a small positive whole number. */
static uint64_t encode(const struct Format* format, uint64_t value) {
  if (format->exponentBits == 0) return value;
  int exponent = 0;
  while (value >> (exponent + 1) != 0)
    ++exponent;
  const uint64_t bias = ((uint64_t)1 << (format->exponentBits - 1)) - 1;
  const uint64_t fraction = value - ((uint64_t)1 << exponent);
  return ((bias + (uint64_t)exponent) << format->mantissaBits) |
         (fraction << format->mantissaBits >> exponent);
}

static void put(const struct Format* format, void* to, size_t index, uint64_t value) {
  const uint64_t bits = encode(format, value);
  memcpy((char*)to + index * format->bytes, &bits, format->bytes); /* little-endian */
}

static void expect(const struct Format* format, const void* from, size_t index, uint64_t value) {
  const uint64_t bits = encode(format, value);
  CHECK(memcmp((const char*)from + index * format->bytes, &bits, format->bytes) == 0);
}

/* Rank 0 has one number and all others 1; the average of that is 2. */
static uint64_t input(int rank, int ranks) {
  return rank == 0 ? (uint64_t)ranks + 1 : 1;
}

static uint64_t reduced(ncclRedOp_t op, int ranks) {
  const uint64_t many = (uint64_t)ranks;
  switch (op) {
    case ncclSum:
      return 2 * many;
    case ncclProd:
    case ncclMax:
      return many + 1;
    case ncclMin:
      return ranks == 1 ? 2 : 1;
    default:
      return 2;
  }
}

static void allReduceEveryTypeAndOp(ncclComm_t comm, int rank, int ranks) {
  uint64_t send[kCount];
  uint64_t recv[kCount];
  for (size_t f = 0; f < sizeof kFormats / sizeof kFormats[0]; ++f) {
    for (int op = ncclSum; op < ncclNumOps; ++op) {
      memset(recv, 0xff, sizeof recv);
      for (size_t i = 0; i < kCount; ++i)
        put(&kFormats[f], send, i, input(rank, ranks));
      CHECK_OK(ncclAllReduce(send, recv, kCount, kFormats[f].type, (ncclRedOp_t)op, comm, NULL));
      for (size_t i = 0; i < kCount; ++i)
        expect(&kFormats[f], recv, i, reduced((ncclRedOp_t)op, ranks));
    }
  }
}

/* Element i of rank r's block b. */
static int32_t element(int r, int b, int i) {
  return 10000 * r + 100 * b + i;
}

static void fillBlocks(int32_t* to, int rank, int blocks) {
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < kCount; ++i)
      to[b * kCount + i] = element(rank, b, i);
  }
}

static void reduceAndScatter(ncclComm_t comm, int rank, int ranks) {
  int32_t send[kCount * kMostRanks] = {0};
  int32_t recv[kCount];
  const int32_t before = ranks * (ranks - 1) / 2 * 10000;
  fillBlocks(send, rank, ranks);
  CHECK_OK(ncclReduceScatter(send, recv, kCount, ncclInt32, ncclSum, comm, NULL));
  for (int i = 0; i < kCount; ++i)
    CHECK(recv[i] == before + ranks * (100 * rank + i));
  CHECK_OK(ncclReduce(send, recv, kCount, ncclInt32, ncclSum, ranks - 1, comm, NULL));
  for (int i = 0; rank == ranks - 1 && i < kCount; ++i)
    CHECK(recv[i] == before + ranks * i);
}

static void gatherAndBroadcast(ncclComm_t comm, int rank, int ranks) {
  int32_t own[kCount];
  int32_t all[kCount * kMostRanks];
  const int root = ranks - 1;
  fillBlocks(own, rank, 1);
  CHECK_OK(ncclAllGather(own, all, kCount, ncclInt32, comm, NULL));
  for (int i = 0; i < kCount * ranks; ++i)
    CHECK(all[i] == element(i / kCount, 0, i % kCount));
  memset(all, 0, sizeof all);
  CHECK_OK(ncclGather(own, all, kCount, ncclInt32, root, comm, NULL));
  for (int i = 0; rank == root && i < kCount * ranks; ++i)
    CHECK(all[i] == element(i / kCount, 0, i % kCount));
  CHECK_OK(ncclBroadcast(own, all, kCount, ncclInt32, root, comm, NULL));
  CHECK_OK(ncclBcast(own, kCount, ncclInt32, root, comm, NULL));
  for (int i = 0; i < kCount; ++i)
    CHECK(all[i] == element(root, 0, i) && own[i] == all[i]);
}

static void scatterAndExchange(ncclComm_t comm, int rank, int ranks) {
  int32_t send[kCount * kMostRanks] = {0};
  int32_t recv[kCount * kMostRanks];
  fillBlocks(send, rank, ranks);
  CHECK_OK(ncclAlltoAll(send, recv, kCount, ncclInt32, comm, NULL));
  for (int i = 0; i < kCount * ranks; ++i)
    CHECK(recv[i] == element(i / kCount, rank, i % kCount));
  CHECK_OK(ncclScatter(send, recv, kCount, ncclInt32, 0, comm, NULL));
  for (int i = 0; i < kCount; ++i)
    CHECK(recv[i] == element(0, rank, i));
}

static void sendAround(ncclComm_t comm, int rank, int ranks) {
  int32_t send[kCount];
  int32_t recv[kCount];
  const int before = (rank + ranks - 1) % ranks;
  fillBlocks(send, rank, 1);
  CHECK_OK(ncclGroupStart());
  CHECK_OK(ncclSend(send, kCount, ncclInt32, (rank + 1) % ranks, comm, NULL));
  CHECK_OK(ncclRecv(recv, kCount, ncclInt32, before, comm, NULL));
  CHECK_OK(ncclGroupEnd());
  for (int i = 0; i < kCount; ++i)
    CHECK(recv[i] == element(before, 0, i));
}

static void sumWithFactor(ncclComm_t comm, int rank, int ranks) {
  const float send = (float)(rank + 1);
  float recv = 0;
  float factor = 0.5F;
  ncclRedOp_t op = ncclSum;
  CHECK_OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat, ncclScalarHostImmediate, comm));
  CHECK(op >= ncclNumOps);
  CHECK_OK(ncclAllReduce(&send, &recv, 1, ncclFloat, op, comm, NULL));
  CHECK(recv == (float)(ranks * (ranks + 1)) / 4);
  CHECK_OK(ncclRedOpDestroy(op, comm));
  CHECK(ncclRedOpDestroy(op, comm) != ncclSuccess);
  /* One that stays in memory, which is the host's here, is read by each operation. */
  CHECK_OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat, ncclScalarDevice, comm));
  factor = 2;
  CHECK_OK(ncclAllReduce(&send, &recv, 1, ncclFloat, op, comm, NULL));
  CHECK(recv == (float)(ranks * (ranks + 1)));
  CHECK_OK(ncclRedOpDestroy(op, comm));
}

/* Memory that the library gives, registered as programs do. */
static void useItsMemory(ncclComm_t comm, int rank, int ranks) {
  int32_t* memory = NULL;
  void* handle = NULL;
  ncclWindow_t window = NULL;
  CHECK_OK(ncclMemAlloc((void**)&memory, sizeof *memory));
  CHECK((uintptr_t)memory % NCCL_WIN_REQUIRED_ALIGNMENT == 0);
  CHECK_OK(ncclCommRegister(comm, memory, sizeof *memory, &handle));
  CHECK_OK(ncclCommWindowRegister(comm, memory, sizeof *memory, &window, NCCL_WIN_DEFAULT));
  CHECK(window == NULL);
  *memory = rank;
  CHECK_OK(ncclAllReduce(memory, memory, 1, ncclInt, ncclSum, comm, NULL));
  CHECK(*memory == ranks * (ranks - 1) / 2);
  CHECK_OK(ncclCommWindowDeregister(comm, window));
  CHECK_OK(ncclCommDeregister(comm, handle));
  CHECK_OK(ncclMemFree(memory));
}

void runOperations(ncclComm_t comm, int rank, int ranks) {
  CHECK(ranks <= kMostRanks);
  allReduceEveryTypeAndOp(comm, rank, ranks);
  reduceAndScatter(comm, rank, ranks);
  gatherAndBroadcast(comm, rank, ranks);
  scatterAndExchange(comm, rank, ranks);
  sendAround(comm, rank, ranks);
  sumWithFactor(comm, rank, ranks);
  useItsMemory(comm, rank, ranks);
}
