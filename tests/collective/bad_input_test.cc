// Every kind of bad input through the C API, on ranks that are threads. After each the failing rank
// has a message, the other ranks are not disturbed, and the communicator still works.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kCount = 64;

rondoComm_t garbageHandle(std::uintptr_t value) {
  return reinterpret_cast<rondoComm_t>(value);
}

/// Two ranks with a short deadline, so that a rank that waits in vain fails instead of hanging.
class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.operationTimeoutMs = 20000;
    config.logLevel = "error";
    ASSERT_EQ(rondoCommInitAll(comms_.data(), kRanks, &config), rondoSuccess)
        << rondoGetLastError(nullptr);
  }

  void TearDown() override {
    for (rondoComm_t comm : comms_)
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }

  rondoComm_t comm() const { return comms_[0]; }

  /// Expects that `call`, made by rank 0 alone, was refused with `part` in its message.
  void expectRefused(rondoResult_t result, rondoResult_t expected, const std::string& part) {
    EXPECT_EQ(result, expected) << rondoGetErrorString(result);
    const std::string message = rondoGetLastError(comm());
    EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
    expectWorking();
  }

  /// All ranks reduce, and the sum is right.
  void expectWorking() {
    std::array<rondoResult_t, kRanks> results{};
    std::array<std::vector<float>, kRanks> data;
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        data[rank].assign(kCount, static_cast<float>(rank + 1));
        results[rank] = rondoAllReduce(data[rank].data(), data[rank].data(), kCount, rondoFloat32,
                                       rondoSum, comms_[rank], nullptr);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_EQ(results[rank], rondoSuccess) << "rank " << rank;
      EXPECT_EQ(data[rank], std::vector<float>(kCount, 3.0f)) << "rank " << rank;
    }
  }

  std::array<rondoComm_t, kRanks> comms_{};
  std::array<float, kCount * kRanks> send_{};
  std::array<float, kCount * kRanks> recv_{};
};

TEST_F(BadInput, WorksWithoutAny) {
  expectWorking();
}

TEST_F(BadInput, UnknownType) {
  expectRefused(rondoAllReduce(send_.data(), recv_.data(), kCount, static_cast<rondoDataType_t>(99),
                               rondoSum, comm(), nullptr),
                rondoInvalidArgument, "rank 0 all_reduce: type 99");
}

TEST_F(BadInput, UnknownReduction) {
  for (const int op : {-1, 5, 0x40000001}) {
    expectRefused(rondoReduceScatter(send_.data(), recv_.data(), kCount, rondoFloat32,
                                     static_cast<rondoRedOp_t>(op), comm(), nullptr),
                  rondoInvalidArgument, "rank 0 reduce_scatter: ");
  }
}

TEST_F(BadInput, AverageOfTruthValues) {
  expectRefused(
      rondoAllReduce(send_.data(), recv_.data(), kCount, rondoBool, rondoAvg, comm(), nullptr),
      rondoInvalidArgument, "rondoAvg");
}

TEST_F(BadInput, NullBuffers) {
  expectRefused(
      rondoAllReduce(nullptr, recv_.data(), kCount, rondoFloat32, rondoSum, comm(), nullptr),
      rondoInvalidArgument, "send is NULL");
  expectRefused(rondoAllGather(send_.data(), nullptr, kCount, rondoFloat32, comm(), nullptr),
                rondoInvalidArgument, "recv is NULL");
  expectRefused(rondoBroadcast(nullptr, recv_.data(), kCount, rondoFloat32, 0, comm(), nullptr),
                rondoInvalidArgument, "send is NULL");
  expectRefused(
      rondoReduce(send_.data(), nullptr, kCount, rondoFloat32, rondoSum, 0, comm(), nullptr),
      rondoInvalidArgument, "recv is NULL");
}

TEST_F(BadInput, MisalignedBuffers) {
  const auto* const odd = reinterpret_cast<const std::byte*>(send_.data()) + 1;
  expectRefused(rondoAllGather(odd, recv_.data(), 1, rondoFloat32, comm(), nullptr),
                rondoInvalidArgument, "misaligned");
}

TEST_F(BadInput, CountBeyondTheAddressSpace) {
  expectRefused(
      rondoAllGather(send_.data(), recv_.data(), std::numeric_limits<std::size_t>::max() / 2,
                     rondoFloat32, comm(), nullptr),
      rondoInvalidArgument, "count");
}

TEST_F(BadInput, WrongRoot) {
  for (const int root : {-1, kRanks}) {
    expectRefused(
        rondoBroadcast(send_.data(), recv_.data(), kCount, rondoFloat32, root, comm(), nullptr),
        rondoInvalidArgument, "root");
  }
}

TEST_F(BadInput, PartialOverlap) {
  expectRefused(rondoAllReduce(send_.data(), send_.data() + 1, kCount, rondoFloat32, rondoSum,
                               comm(), nullptr),
                rondoInvalidArgument, "in place");
}

TEST_F(BadInput, AStreamOnAHostCommunicator) {
  const auto stream = reinterpret_cast<rondoStream_t>(send_.data());
  expectRefused(rondoBarrier(comm(), stream), rondoInvalidArgument, "is no stream on host memory");
}

TEST_F(BadInput, Reductions) {
  const float factor = 2.0f;
  rondoRedOp_t op = rondoMax;
  expectRefused(
      rondoRedOpCreatePreMulSum(nullptr, &factor, rondoFloat32, rondoScalarHostImmediate, comm()),
      rondoInvalidArgument, "op is NULL");
  expectRefused(
      rondoRedOpCreatePreMulSum(&op, nullptr, rondoFloat32, rondoScalarHostImmediate, comm()),
      rondoInvalidArgument, "scalar is NULL");
  expectRefused(
      rondoRedOpCreatePreMulSum(&op, &factor, rondoBool, rondoScalarHostImmediate, comm()),
      rondoInvalidArgument, "bool");
  expectRefused(rondoRedOpCreatePreMulSum(&op, &factor, static_cast<rondoDataType_t>(-3),
                                          rondoScalarHostImmediate, comm()),
                rondoInvalidArgument, "type -3");
  expectRefused(rondoRedOpCreatePreMulSum(&op, &factor, rondoFloat32,
                                          static_cast<rondoScalarResidence_t>(2), comm()),
                rondoInvalidArgument, "residence");
  EXPECT_EQ(op, rondoMax) << "written in spite of the failure";
  expectRefused(rondoRedOpDestroy(rondoSum, comm()), rondoInvalidArgument, "reduction");
}

TEST_F(BadInput, AReductionAfterItsEndAndOnAnotherRank) {
  const float factor = 2.0f;
  rondoRedOp_t op = rondoSum;
  ASSERT_EQ(rondoRedOpCreatePreMulSum(&op, &factor, rondoFloat32, rondoScalarHostImmediate, comm()),
            rondoSuccess);
  EXPECT_EQ(rondoRedOpDestroy(op, comms_[1]), rondoInvalidArgument);
  expectRefused(
      rondoAllReduce(send_.data(), recv_.data(), kCount, rondoFloat64, op, comm(), nullptr),
      rondoInvalidArgument, "was made for type float");
  EXPECT_EQ(rondoRedOpDestroy(op, comm()), rondoSuccess);
  expectRefused(
      rondoAllReduce(send_.data(), recv_.data(), kCount, rondoFloat32, op, comm(), nullptr),
      rondoInvalidUsage, "was destroyed");
  expectRefused(rondoRedOpDestroy(op, comm()), rondoInvalidUsage, "was destroyed");
}

TEST_F(BadInput, Queries) {
  expectRefused(rondoCommCount(comm(), nullptr), rondoInvalidArgument, "ranks is NULL");
  expectRefused(rondoCommRank(comm(), nullptr), rondoInvalidArgument, "rank is NULL");
  expectRefused(rondoCommGetAsyncError(comm(), nullptr), rondoInvalidArgument, "result is NULL");
  const char* name = nullptr;
  expectRefused(rondoCommGetTransport(comm(), 0, nullptr), rondoInvalidArgument, "name is NULL");
  expectRefused(rondoCommGetTransport(comm(), -1, &name), rondoInvalidArgument,
                "peer -1 is no rank");
  expectRefused(rondoCommGetTransport(comm(), kRanks, &name), rondoInvalidArgument, "0 to");
  EXPECT_EQ(name, nullptr);
  rondoResult_t result = rondoInternalError;
  EXPECT_EQ(rondoCommGetAsyncError(comm(), &result), rondoSuccess);
  EXPECT_EQ(result, rondoSuccess);
}

TEST_F(BadInput, MessagesBelongToThreadAndCommunicator) {
  EXPECT_EQ(rondoCommCount(comms_[0], nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommRank(comms_[1], nullptr), rondoInvalidArgument);
  EXPECT_STREQ(rondoGetLastError(comms_[0]), "ranks is NULL; pass where the answer goes");
  EXPECT_STREQ(rondoGetLastError(comms_[1]), "rank is NULL; pass where the answer goes");
  EXPECT_STREQ(rondoGetLastError(nullptr), "rank is NULL; pass where the answer goes");
  std::thread([this] { EXPECT_STREQ(rondoGetLastError(comms_[0]), ""); }).join();
}

TEST_F(BadInput, EveryCallRefusesAHandleThatIsNone) {
  const std::vector<std::function<rondoResult_t(rondoComm_t)>> calls = {
      [this](rondoComm_t comm) {
        return rondoAllReduce(send_.data(), recv_.data(), kCount, rondoFloat32, rondoSum, comm,
                              nullptr);
      },
      [](rondoComm_t comm) { return rondoBarrier(comm, nullptr); },
      [](rondoComm_t comm) { return rondoCommAbort(comm); },
      [](rondoComm_t comm) {
        int ranks = 0;
        return rondoCommCount(comm, &ranks);
      },
      [](rondoComm_t comm) {
        const char* name = nullptr;
        return rondoCommGetTransport(comm, 0, &name);
      },
      [](rondoComm_t comm) { return rondoRedOpDestroy(rondoSum, comm); },
  };
  for (const auto& call : calls) {
    EXPECT_EQ(call(nullptr), rondoInvalidArgument);
    for (const std::uintptr_t value :
         {std::uintptr_t{1}, std::uintptr_t{0xdeadbeef}, ~std::uintptr_t{0},
          reinterpret_cast<std::uintptr_t>(send_.data())}) {
      EXPECT_EQ(call(garbageHandle(value)), rondoInvalidUsage);
      EXPECT_NE(std::string(rondoGetLastError(garbageHandle(value))).find("is no communicator"),
                std::string::npos);
    }
  }
  expectWorking();
}

TEST(BadHandle, UseAfterDestroyAndDoubleDestroy) {
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoCommInitAll(&comm, 1, nullptr), rondoSuccess);
  ASSERT_EQ(rondoCommDestroy(comm), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(comm), rondoInvalidUsage);
  EXPECT_EQ(rondoBarrier(comm, nullptr), rondoInvalidUsage);
  EXPECT_NE(std::string(rondoGetLastError(comm)).find("was destroyed"), std::string::npos);
  EXPECT_EQ(rondoCommAbort(comm), rondoInvalidUsage);
  rondoComm_t next = nullptr;  // takes the same place
  ASSERT_EQ(rondoCommInitAll(&next, 1, nullptr), rondoSuccess);
  EXPECT_NE(next, comm);
  EXPECT_EQ(rondoBarrier(comm, nullptr), rondoInvalidUsage);
  EXPECT_EQ(rondoBarrier(next, nullptr), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(next), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(nullptr), rondoSuccess);
}

TEST(BadInit, LeavesTheHandlesAlone) {
  const rondoComm_t mark = garbageHandle(0x1234);
  rondoComm_t comm = mark;
  EXPECT_EQ(rondoCommInitAll(nullptr, 1, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommInitAll(&comm, 0, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommInitAll(&comm, -4, nullptr), rondoInvalidArgument);
  rondoConfig_t config{};
  EXPECT_EQ(rondoCommInitAll(&comm, 1, &config), rondoInvalidArgument);
  config = RONDO_CONFIG_INITIALIZER;
  config.algorithm = "all_reduce:fastest";
  EXPECT_EQ(rondoCommInitAll(&comm, 1, &config), rondoInvalidArgument);
  EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("two_shot"), std::string::npos);
  EXPECT_EQ(comm, mark);
}

TEST(Abort, EndsAllRanksForGood) {
  std::array<rondoComm_t, kRanks> comms{};
  ASSERT_EQ(rondoCommInitAll(comms.data(), kRanks, nullptr), rondoSuccess);
  rondoResult_t waiting = rondoSuccess;
  std::thread other([&] { waiting = rondoBarrier(comms[1], nullptr); });
  EXPECT_EQ(rondoCommAbort(comms[0]), rondoSuccess);
  other.join();
  EXPECT_EQ(waiting, rondoAborted);
  EXPECT_EQ(rondoBarrier(comms[0], nullptr), rondoAborted);
  rondoResult_t result = rondoSuccess;
  EXPECT_EQ(rondoCommGetAsyncError(comms[1], &result), rondoSuccess);
  EXPECT_EQ(result, rondoAborted);
  EXPECT_STRNE(rondoGetLastError(comms[1]), "");
  for (rondoComm_t comm : comms)
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

}  // namespace
