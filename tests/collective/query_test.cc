// What a communicator tells of itself: how calls would be carried out and why, what memory it
// takes; and warming up, after which calls take no more of it.
#include <atomic>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

rondoCallPlan_t planOf(rondoComm_t comm, const char* collective, std::size_t count) {
  rondoCallPlan_t plan{};
  plan.size = sizeof plan;
  EXPECT_EQ(rondoCommQuery(comm, collective, count, rondoFloat32, rondoSum, 0, &plan), rondoSuccess)
      << rondoGetLastError(comm);
  return plan;
}

TEST(Query, TellsWhatThePlannerChoosesAndWhy) {
  const Communicators communicators({.ranks = 4});
  PlanRequest request;
  request.collective = Collective::kAllReduce;
  request.type = DataType::kFloat32;
  request.count = 1U << 20;
  const Result<Plan> expected = communicators.plan(request);
  ASSERT_TRUE(expected.ok());
  for (int rank = 0; rank < 4; ++rank) {
    const rondoCallPlan_t plan = planOf(communicators[rank], "all_reduce", request.count);
    EXPECT_EQ(plan.algorithm, algorithmInfo(expected->algorithm).name);
    EXPECT_THAT(plan.protocol, StrEq("slots"));
    EXPECT_EQ(plan.channels, expected->channels);
    EXPECT_EQ(plan.chunkBytes, expected->chunkElems * sizeof(float));
    EXPECT_GT(plan.predictedMicros, 0.0);
    EXPECT_STRNE(plan.transports, "");
    EXPECT_THAT(plan.why, HasSubstr("fastest of"));
  }
}

TEST(Query, KnowsWhatWasAskedForByName) {
  const Communicators communicators({.ranks = 2, .algorithm = "all_reduce:ring"});
  const rondoCallPlan_t plan = planOf(communicators[0], "all_reduce", 8);
  EXPECT_THAT(plan.algorithm, StrEq("ring"));
  EXPECT_THAT(plan.why, StrEq("asked for by name"));
}

TEST(Query, ArgumentsAreChecked) {
  const Communicators communicators(quietSettings(2));
  rondoCallPlan_t plan{};
  const auto query = [&](const char* collective, rondoRedOp_t op, int root) {
    return rondoCommQuery(communicators[0], collective, 8, rondoFloat32, op, root, &plan);
  };
  EXPECT_EQ(query("all_reduce", rondoSum, 0), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(communicators[0]), HasSubstr("size"));
  plan.size = sizeof plan;
  EXPECT_EQ(query("all_reduce", rondoSum, 0), rondoSuccess);
  EXPECT_EQ(query("allreduce", rondoSum, 0), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(communicators[0]), HasSubstr("reduce_scatter"));  // lists all
  EXPECT_EQ(query(nullptr, rondoSum, 0), rondoInvalidArgument);
  EXPECT_EQ(query("reduce", rondoSum, 2), rondoInvalidArgument);
  EXPECT_EQ(query("reduce", static_cast<rondoRedOp_t>(77), 0), rondoInvalidArgument);
  EXPECT_EQ(rondoCommQuery(communicators[0], "barrier", 0, rondoUint8, rondoSum, 0, nullptr),
            rondoInvalidArgument);
}

std::size_t bytesOf(rondoComm_t comm) {
  rondoMemoryUse_t use{};
  use.size = sizeof use;
  EXPECT_EQ(rondoCommGetMemory(comm, &use), rondoSuccess) << rondoGetLastError(comm);
  std::size_t sum = 0;
  for (std::size_t place = 0; place < use.transports; ++place) {
    EXPECT_STRNE(use.byTransport[place].name, "");
    sum += use.byTransport[place].bytes;
  }
  EXPECT_EQ(sum, use.bytes);
  return use.bytes;
}

TEST(WarmUp, LeavesNothingToBeAllocatedByCalls) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 70000;
  const Communicators communicators({.ranks = kRanks});
  std::atomic<int> grown = 0;  // ranks: which of two holds a connection is the transport's affair
  runRanks(communicators, [&](int rank) {
    rondoComm_t comm = communicators[rank];
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    const std::size_t before = bytesOf(comm);
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoCommWarmUp(comm, "all_reduce", kCount, rondoFloat32, rondoSum, 0), rondoSuccess);
    ASSERT_EQ(rondoCommWarmUp(comm, "gather", kCount, rondoFloat32, rondoSum, 2), rondoSuccess);
    const int peer = rank == 0 ? 2 : 0;
    if (rank != 1) {
      ASSERT_EQ(rondoCommWarmUp(comm, rank == 0 ? "send" : "recv", 0, rondoUint8, rondoSum, peer),
                rondoSuccess);
    }
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    const std::size_t warm = bytesOf(comm);
    EXPECT_GE(warm, before);
    if (warm > before) ++grown;
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    std::vector<float> data(kCount, 1.0F);
    std::vector<float> all(rank == 2 ? kRanks * kCount : 0);
    ASSERT_EQ(
        rondoAllReduce(data.data(), data.data(), kCount, rondoFloat32, rondoSum, comm, nullptr),
        rondoSuccess);
    ASSERT_EQ(rondoGather(data.data(), all.data(), kCount, rondoFloat32, 2, comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(data, std::vector<float>(kCount, 3.0F));
    if (rank == 0) {
      ASSERT_EQ(rondoSend(data.data(), kCount, rondoFloat32, 2, comm, nullptr), rondoSuccess);
    }
    if (rank == 2) {
      ASSERT_EQ(rondoRecv(data.data(), kCount, rondoFloat32, 0, comm, nullptr), rondoSuccess);
    }
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    EXPECT_EQ(bytesOf(comm), warm);
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
  });
  EXPECT_GT(grown, 0);
}

TEST(WarmUp, ArgumentsAreChecked) {
  const Communicators communicators(quietSettings(2));
  rondoComm_t comm = communicators[0];
  EXPECT_EQ(rondoCommWarmUp(comm, "all", 1, rondoUint8, rondoSum, 0), rondoInvalidArgument);
  EXPECT_EQ(rondoCommWarmUp(comm, "send", 1, rondoUint8, rondoSum, 2), rondoInvalidArgument);
  EXPECT_EQ(rondoCommWarmUp(comm, nullptr, 1, rondoUint8, rondoSum, 0), rondoInvalidArgument);
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoCommWarmUp(comm, "barrier", 0, rondoUint8, rondoSum, 0), rondoInvalidUsage);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
  rondoMemoryUse_t use{};
  EXPECT_EQ(rondoCommGetMemory(comm, &use), rondoInvalidArgument);
  EXPECT_EQ(rondoCommGetMemory(comm, nullptr), rondoInvalidArgument);
}

TEST(Query, IsThereInCpp) {
  const std::vector<rondo::Communicator> ranks = rondo::Communicator::createAll(2);
  EXPECT_THAT(ranks[0].query("all_gather", 1, rondoUint8).protocol, StrEq("mailboxes"));
  EXPECT_THAT(ranks[0].query("all_gather", 1, rondoUint8).transports, StrEq("inproc"));
  for (const rondo::Communicator& rank : ranks)
    rank.warmUp("broadcast", 100000, rondoFloat64, rondoSum, 1);
  EXPECT_GT(ranks[1].memory().bytes, 0U);
}

}  // namespace
}  // namespace rondo::testing
