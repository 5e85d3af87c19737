#include "src/planner.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "transports/slot_shape.h"

namespace rondo {
namespace {

PlanFacts factsFor(int ranks) {
  return {.ranks = ranks, .cpus = 2, .slotBytes = 65536, .slotCount = 4};
}

PlanRequest allReduce(DataType type, ReduceOp op, std::size_t count) {
  return {.collective = Collective::kAllReduce, .count = count, .type = type, .op = op};
}

PlanSettings forcing(Collective collective, std::string_view name) {
  PlanSettings settings;
  settings.rules = {{.algorithm = findAlgorithm(collective, name).value()}};
  return settings;
}

/// With the least of slots, a connection each way with every other rank fits into half of what
/// slots may take, however many ranks there are.
TEST(PlanFacts, SlotsAreSmallerWhereRanksAreMany) {
  const Config config;
  EXPECT_EQ(planFacts(2, 2, config).slotBytes, 65536U);
  EXPECT_EQ(planFacts(60, 2, config).slotBytes, 65536U);
  for (const int ranks : {64, 65, 100, 128, 500, 900}) {
    const std::size_t slotBytes = planFacts(ranks, 2, config).slotBytes;
    const auto connections = 2 * static_cast<std::size_t>(ranks - 1);
    EXPECT_LT(slotBytes, 65536U);
    EXPECT_EQ(slotBytes % 64, 0U);
    EXPECT_LE(connections * connectionBytes({slotBytes, kFewestSlots}), config.slotMemoryBytes / 2);
  }
}

TEST(PlanFacts, SlotsAreAsLargeAsAskedForOrAsThereIsNoLimit) {
  Config config;
  config.slotMemoryBytes = 0;
  EXPECT_EQ(planFacts(1000, 2, config).slotBytes, 65536U);
  config.slotMemoryBytes = 1;
  EXPECT_EQ(planFacts(1000, 2, config).slotBytes, kPageBytes / 2);
  config.chunkBytes = 1 << 20;
  EXPECT_EQ(planFacts(1000, 2, config).slotBytes, std::size_t{1} << 20);
}

TEST(Planner, FindsAPlanForEveryMeaningfulRequest) {
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      for (int op = 0; op < kReduceOpCount; ++op) {
        for (const std::size_t count : {0ULL, 1ULL, 1000ULL, 1ULL << 40}) {
          PlanRequest request{.collective = static_cast<Collective>(collective),
                              .count = count,
                              .type = static_cast<DataType>(type),
                              .op = static_cast<ReduceOp>(op)};
          if (!isReducible(request.type, request.op)) continue;
          for (const int ranks : {1, 2, 3, 64}) {
            const Result<Plan> plan = makePlan(request, factsFor(ranks), {});
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            const std::size_t wire = algorithmInfo(plan->algorithm).widePartials
                                         ? std::max(elementBytes(request.type),
                                                    accumulatorBytes(request.type, request.op))
                                         : elementBytes(request.type);
            EXPECT_LE(plan->chunkElems * wire, factsFor(ranks).slotBytes);
            EXPECT_EQ(plan->chunkElems % plan->grain, 0U);
            EXPECT_GT(plan->chunkElems, 0U);
          }
        }
      }
    }
  }
}

TEST(Planner, PrefersOneHopForSmallMessagesAndLessDataForLargeOnes) {
  const PlanFacts facts = {.ranks = 8, .cpus = 8, .slotBytes = 65536, .slotCount = 4};
  const Result<Plan> small = makePlan(allReduce(DataType::kFloat32, ReduceOp::kSum, 2), facts, {});
  const Result<Plan> large =
      makePlan(allReduce(DataType::kFloat32, ReduceOp::kSum, 1 << 26), facts, {});
  EXPECT_EQ(algorithmInfo(small->algorithm).name, "one_shot");
  EXPECT_NE(algorithmInfo(large->algorithm).name, "one_shot");
  EXPECT_NE(algorithmInfo(large->algorithm).name, "chain");
}

TEST(Planner, RefusesHopRoundingWhereItWouldBeWrong) {
  struct Case {
    DataType type;
    ReduceOp op;
    bool allowed;
  };

  const Case cases[] = {
      {DataType::kInt8, ReduceOp::kAvg, false},       {DataType::kInt32, ReduceOp::kAvg, false},
      {DataType::kInt64, ReduceOp::kAvg, true},       {DataType::kFloat16, ReduceOp::kAvg, false},
      {DataType::kFloat8E4m3, ReduceOp::kSum, false}, {DataType::kFloat8E4m3, ReduceOp::kMax, true},
      {DataType::kFloat16, ReduceOp::kSum, true},     {DataType::kFloat32, ReduceOp::kAvg, true}};
  for (const Case& c : cases) {
    const Result<Plan> plan = makePlan(allReduce(c.type, c.op, 100), factsFor(4),
                                       forcing(Collective::kAllReduce, "ring"));
    EXPECT_EQ(plan.ok(), c.allowed) << dataTypeName(c.type) << " " << reduceOpName(c.op);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), StatusCode::kNotSupported);
      EXPECT_NE(plan.status().message().find("ring"), std::string_view::npos);
    }
  }
}

TEST(Planner, ChoosesHopRoundingOfNarrowFloatsOnlyByName) {
  for (const std::size_t count : {1ULL, 1000ULL, 1ULL << 24}) {
    const Result<Plan> plan =
        makePlan(allReduce(DataType::kBfloat16, ReduceOp::kSum, count), factsFor(4), {});
    EXPECT_EQ(algorithmInfo(plan->algorithm).order, FoldOrder::kRankOrder);
  }
}

TEST(Planner, StaysWithRankOrderWhenReproducible) {
  PlanSettings settings;
  settings.reproducible = true;
  for (const std::size_t count : {1ULL, 1000ULL, 1ULL << 24}) {
    const Result<Plan> plan =
        makePlan(allReduce(DataType::kFloat32, ReduceOp::kSum, count), factsFor(4), settings);
    EXPECT_EQ(algorithmInfo(plan->algorithm).order, FoldOrder::kRankOrder);
  }
  settings.rules = forcing(Collective::kAllReduce, "tree").rules;
  EXPECT_FALSE(
      makePlan(allReduce(DataType::kFloat32, ReduceOp::kSum, 100), factsFor(4), settings).ok());
  // Where the order can't be seen in the bits, any algorithm is reproducible.
  EXPECT_TRUE(
      makePlan(allReduce(DataType::kInt32, ReduceOp::kSum, 100), factsFor(4), settings).ok());
}

TEST(Planner, HonoursTheNumberOfChannels) {
  PlanSettings settings = forcing(Collective::kAllReduce, "ring");
  settings.channels = 5;
  const PlanRequest request = allReduce(DataType::kFloat32, ReduceOp::kSum, 1000);
  const Result<Plan> plan = makePlan(request, factsFor(4), settings);
  EXPECT_EQ(plan->channels, 5);
  std::size_t covered = 0;
  for (int channel = 0; channel < plan->channels; ++channel) {
    const ScheduleArgs args = scheduleArgs(*plan, request, 4, 0, channel);
    EXPECT_EQ(args.share.offset, covered);
    covered += args.share.elems;
  }
  EXPECT_EQ(covered, request.count);
}

TEST(Planner, ExplainsEveryCandidateItRejects) {
  const auto candidates = planCandidates(allReduce(DataType::kFloat8E5m2, ReduceOp::kSum, 10),
                                         factsFor(4), PlanSettings{});
  EXPECT_GE(candidates.size(), 5U);
  for (const Candidate& candidate : candidates) {
    EXPECT_EQ(candidate.eligible, candidate.reason.empty());
  }
}

/// Ranks one behind the other on hosts of those sizes, each with enough processors.
PlanFacts onHosts(std::initializer_list<int> sizes) {
  std::vector<int> hosts;
  int host = 0;
  for (const int size : sizes)
    hosts.insert(hosts.end(), static_cast<std::size_t>(size), host++);
  PlanFacts facts = factsFor(static_cast<int>(hosts.size()));
  facts.cpus = facts.ranks;
  facts.hosts = std::make_shared<const HostMap>(hosts);
  return facts;
}

std::string_view chosen(const PlanRequest& request, const PlanFacts& facts) {
  const Result<Plan> plan = makePlan(request, facts, {});
  return plan.ok() ? algorithmInfo(plan->algorithm).name : plan.status().message();
}

TEST(TwoLevelPlans, AreChosenWhereHostsHoldSeveralRanks) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    PlanRequest request = allReduce(DataType::kFloat32, ReduceOp::kSum, 1 << 20);
    request.collective = collective;
    EXPECT_EQ(chosen(request, onHosts({8, 8})), "two_level") << collectiveName(collective);
    EXPECT_EQ(chosen(request, onHosts({4, 4, 4, 4})), "two_level") << collectiveName(collective);
    EXPECT_NE(chosen(request, onHosts({1, 1, 1, 1})), "two_level") << collectiveName(collective);
    EXPECT_NE(chosen(request, factsFor(16)), "two_level") << collectiveName(collective);
  }
}

/// All-reduce goes on with hosts of different sizes; blocks belong to ranks, so theirs do not.
TEST(TwoLevelPlans, OfBlocksWantAsManyRanksOnEachHost) {
  PlanRequest request = allReduce(DataType::kFloat32, ReduceOp::kSum, 1 << 20);
  EXPECT_TRUE(makePlan(request, onHosts({8, 7}), forcing(request.collective, "two_level")).ok());
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather}) {
    request.collective = collective;
    EXPECT_NE(chosen(request, onHosts({8, 7})), "two_level");
    const Result<Plan> plan = makePlan(request, onHosts({8, 7}), forcing(collective, "two_level"));
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), StatusCode::kNotSupported);
    EXPECT_NE(plan.status().message().find("as many ranks on each host"), std::string_view::npos);
  }
}

TEST(TwoLevelPlans, KeepToTheRulesOfRoundingAtHops) {
  const PlanFacts facts = onHosts({4, 4});
  PlanSettings named = forcing(Collective::kAllReduce, "two_level");
  EXPECT_NE(chosen(allReduce(DataType::kBfloat16, ReduceOp::kSum, 1 << 20), facts), "two_level");
  EXPECT_EQ(chosen(allReduce(DataType::kBfloat16, ReduceOp::kMax, 1 << 20), facts), "two_level");
  EXPECT_TRUE(makePlan(allReduce(DataType::kBfloat16, ReduceOp::kSum, 100), facts, named).ok());
  EXPECT_FALSE(makePlan(allReduce(DataType::kInt32, ReduceOp::kAvg, 100), facts, named).ok());
  EXPECT_TRUE(makePlan(allReduce(DataType::kFloat32, ReduceOp::kAvg, 100), facts, named).ok());
  named.reproducible = true;
  EXPECT_FALSE(makePlan(allReduce(DataType::kFloat32, ReduceOp::kSum, 100), facts, named).ok());
  EXPECT_TRUE(makePlan(allReduce(DataType::kInt32, ReduceOp::kSum, 100), facts, named).ok());
  PlanRequest varied = allReduce(DataType::kFloat32, ReduceOp::kSum, 100);
  varied.collective = Collective::kAllGather;
  varied.varied = true;
  EXPECT_NE(chosen(varied, facts), "two_level");
}

/// Ranks of one host need not follow each other.
TEST(TwoLevelPlans, AreNotForFunctionsThatNeedTheOrderOfRanks) {
  const PlanFacts facts = onHosts({4, 4});
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
    PlanRequest request = allReduce(DataType::kFloat32, ReduceOp::kMax, 1 << 20);
    request.collective = collective;
    request.combiner = Combiner::kUser;
    EXPECT_EQ(chosen(request, facts), "two_level");
    request.combiner = Combiner::kOrderedUser;
    const Result<Plan> plan = makePlan(request, facts, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(algorithmInfo(plan->algorithm).order, FoldOrder::kRankOrder);
    const Result<Plan> named = makePlan(request, facts, forcing(collective, "two_level"));
    ASSERT_FALSE(named.ok());
    EXPECT_EQ(named.status().code(), StatusCode::kNotSupported);
    EXPECT_NE(named.status().message().find("two_level does not combine in rank order"),
              std::string_view::npos);
  }
}

/// However small the chunks are that were asked for.
TEST(TwoLevelPlans, CutNoComplexNumber) {
  const PlanFacts facts = onHosts({3, 2});
  PlanSettings settings = forcing(Collective::kAllReduce, "two_level");
  for (const std::size_t chunkBytes : {std::size_t{8}, std::size_t{64}, std::size_t{4096}}) {
    settings.rules[0].chunkBytes = chunkBytes;
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
      PlanRequest request = allReduce(type, ReduceOp::kMax, 100002);
      request.combiner = Combiner::kUser;
      request.pairs = true;
      const Result<Plan> plan = makePlan(request, facts, settings);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      const TwoLevelGeometry& stages = plan->twoLevel;
      for (const std::size_t parts :
           {stages.pieceElems, stages.insideChunk, stages.betweenChunk, stages.grain})
        EXPECT_EQ(parts % 2, 0U);
    }
  }
}

/// What is in a slot fits into it, whatever the type, the size and the hosts.
TEST(TwoLevelPlans, FitIntoSlots) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    for (const DataType type : {DataType::kUint8, DataType::kFloat32, DataType::kFloat64}) {
      for (const std::size_t count : {0ULL, 1ULL, 7ULL, 100000ULL, 1ULL << 40}) {
        const PlanRequest request{.collective = collective, .count = count, .type = type};
        for (const std::size_t slotBytes : {64U, 4096U, 65536U}) {
          PlanFacts facts = onHosts({3, 3, 3});
          facts.slotBytes = slotBytes;
          const Result<Plan> plan = makePlan(request, facts, forcing(collective, "two_level"));
          ASSERT_TRUE(plan.ok()) << plan.status().message();
          const TwoLevelGeometry& stages = plan->twoLevel;
          for (const std::size_t chunk : {stages.insideChunk, stages.betweenChunk}) {
            EXPECT_GT(chunk, 0U);
            EXPECT_LE(chunk * elementBytes(type), slotBytes);
            EXPECT_EQ(chunk % stages.grain, 0U);
          }
          const TwoLevel operation = twoLevelOf(*plan, request, facts, 4);
          EXPECT_EQ(operation.pieces() == 0, count == 0);
          EXPECT_LE(operation.scratchElems() * elementBytes(type), std::size_t{4} << 20);
        }
      }
    }
  }
}

TEST(TwoLevelPlans, DifferInTheirHashWhereStagesDiffer) {
  Plan plan;
  plan.algorithm = *findAlgorithm(Collective::kAllReduce, "two_level");
  for (std::size_t TwoLevelGeometry::*part :
       {&TwoLevelGeometry::pieceElems, &TwoLevelGeometry::insideChunk,
        &TwoLevelGeometry::betweenChunk}) {
    Plan other = plan;
    other.twoLevel.*part += 64;
    EXPECT_NE(plan.geometryHash(), other.geometryHash());
  }
  Plan other = plan;
  other.twoLevel.between = algorithmAt(3);
  EXPECT_NE(plan.geometryHash(), other.geometryHash());
}

TEST(Plan, GeometryHashSeesWhatRanksMustAgreeOn) {
  Plan plan;
  Plan other = plan;
  other.chunkElems = 2;
  EXPECT_NE(plan.geometryHash(), other.geometryHash());
  other = plan;
  other.channels = 2;
  EXPECT_NE(plan.geometryHash(), other.geometryHash());
  other = plan;
  other.algorithm = algorithmAt(1);
  EXPECT_NE(plan.geometryHash(), other.geometryHash());
  other = plan;
  other.protocol = device::Protocol::kWideLines;
  EXPECT_NE(plan.geometryHash(), other.geometryHash());
}

}  // namespace
}  // namespace rondo
