// How many workers ranks agree on, and which calls have them.
#include <vector>

#include <gtest/gtest.h>

#include "src/config.h"
#include "src/planner.h"
#include "src/worker_cores.h"
#include "src/worker_count.h"
#include "transports/slot_shape.h"

namespace rondo {
namespace {

/// Packages of cores with two threads each, numbered as Linux does: first threads first.
Topology twoThreadedCores(int packages, int coresOfPackage) {
  const int cores = packages * coresOfPackage;
  Topology topology = flatTopology(ProcessorMask::range(0, 2 * cores - 1));
  for (Processor& processor : topology.processors) {
    processor.core = processor.os % cores;
    processor.node = processor.package = processor.core / coresOfPackage;
  }
  return topology;
}

RankCores rankOn(const ProcessorMask& cores, int most = kMostWorkers, bool asked = false) {
  return {.use = {cores, ProcessorMask::range(0, 0)}, .most = most, .asked = asked};
}

int workersOf(const std::vector<RankCores>& ranks) {
  return workerFacts(ranks).workers;
}

PlanFacts factsWith(int workers) {
  PlanFacts facts = {.ranks = 2, .cpus = 64, .slotBytes = 65536, .slotCount = 4};
  facts.workers = workers;
  return facts;
}

PlanRequest request(Collective collective, std::size_t count, DataType type = DataType::kFloat32) {
  return {.collective = collective, .count = count, .type = type, .op = ReduceOp::kSum};
}

Plan planOf(const PlanRequest& call, const PlanFacts& facts, const PlanSettings& settings = {}) {
  const Result<Plan> plan = makePlan(call, facts, settings);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *plan : Plan{};
}

TEST(WorkerCount, CoresAreSharedByTheRanksThatMayUseThem) {
  const ProcessorMask all = ProcessorMask::range(0, 9);
  EXPECT_EQ(workersOf(std::vector<RankCores>(10, rankOn(all))), 1);
  EXPECT_EQ(workersOf(std::vector<RankCores>(5, rankOn(all))), 2);
  EXPECT_EQ(workersOf(std::vector<RankCores>(3, rankOn(all))), 3);
  EXPECT_EQ(workersOf(std::vector<RankCores>(11, rankOn(all))), 1);
}

TEST(WorkerCount, TheLeastOfAllRanksCounts) {
  EXPECT_EQ(workersOf({rankOn(ProcessorMask::range(0, 7)), rankOn(ProcessorMask::range(8, 10))}),
            3);
  EXPECT_EQ(workersOf({rankOn(ProcessorMask::range(0, 7)), rankOn({})}), 1);
  EXPECT_EQ(workersOf({rankOn(ProcessorMask::range(0, 7), 2), rankOn(ProcessorMask::range(8, 15))}),
            2);
  EXPECT_EQ(workersOf({rankOn({}, 5, true), rankOn({}, 3, true)}), 3);
  EXPECT_EQ(workersOf({rankOn({}, 5, true), rankOn(ProcessorMask::range(0, 3))}), 4);
}

TEST(WorkerCount, AQuotaIsSharedByTheRanksOfAMachine) {
  RankCores rank = rankOn(ProcessorMask::range(0, 63));
  rank.quota = 9;
  EXPECT_EQ(workersOf(std::vector<RankCores>(4, rank)), 2);
  EXPECT_EQ(workersOf(std::vector<RankCores>(16, rank)), 1);
  rank.asked = true;
  rank.most = 5;
  EXPECT_EQ(workersOf(std::vector<RankCores>(4, rank)), 5);
}

TEST(WorkerCount, CoresOfAnotherMachineAreOthers) {
  RankCores other = rankOn(ProcessorMask::range(0, 3));
  other.machine = 1;
  const WorkerFacts facts = workerFacts(std::vector{rankOn(ProcessorMask::range(0, 3)), other});
  EXPECT_EQ(facts.workers, 4);
  EXPECT_EQ(facts.nodes, 2);
}

TEST(WorkerCount, WhatAPeerSaysDoesNotExceedWhatThereIs) {
  EXPECT_EQ(workersOf({rankOn({}, 1000, true)}), kMostWorkers);
  EXPECT_EQ(workersOf({rankOn({}, -7, true)}), 1);
}

TEST(WorkerCount, ACoresSecondThreadIsNoCore) {
  Config config;
  config.slotMemoryBytes = 0;
  const PlanFacts facts = factsOn(twoThreadedCores(2, 16), 4, config);
  EXPECT_EQ(facts.cpus, 64);
  EXPECT_EQ(facts.workers, 8);
  EXPECT_EQ(facts.memoryNodes, 2);
}

TEST(WorkerCount, TheirSlotsTakeAQuarterOfTheMemoryForSlotsAtMost) {
  const Topology machine = twoThreadedCores(2, 32);
  for (const int ranks : {2, 4, 8, 16, 32}) {
    const Config config;
    const PlanFacts facts = factsOn(machine, ranks, config);
    const auto channels = static_cast<std::size_t>(2 * (ranks - 1) * facts.workers);
    const std::size_t bytes = channels * connectionBytes({facts.slotBytes, facts.slotCount});
    EXPECT_TRUE(facts.workers == 1 || bytes <= config.slotMemoryBytes / 4) << ranks << " ranks";
  }
}

TEST(WorkerPlans, LargeCallsHaveThemAndSmallOnesDoNot) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter, Collective::kAllToAll}) {
    const Plan small = planOf(request(collective, 4096), factsWith(4));
    EXPECT_EQ(small.workers, 1) << collectiveName(collective);
    EXPECT_EQ(small.channels, planOf(request(collective, 4096), factsWith(1)).channels);
    const Plan large = planOf(request(collective, 1 << 24), factsWith(4));
    EXPECT_EQ(large.workers, 4) << collectiveName(collective);
    EXPECT_EQ(large.channels % large.workers, 0) << collectiveName(collective);
    const Plan alone = planOf(request(collective, 1 << 24), factsWith(1));
    EXPECT_EQ(alone.workers, 1);
    EXPECT_LT(large.predictedMicros, alone.predictedMicros);
  }
}

TEST(WorkerPlans, TheAlgorithmDoesNotDependOnThem) {
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    for (std::size_t count = 1; count < std::size_t{1} << 28; count *= 8) {
      const PlanRequest call = request(static_cast<Collective>(collective), count);
      EXPECT_EQ(planOf(call, factsWith(16)).algorithm, planOf(call, factsWith(1)).algorithm);
    }
  }
}

/// A ring adds in another order where blocks are cut otherwise.
TEST(WorkerPlans, WhatTheCutIntoChannelsWouldShowInHasNone) {
  PlanSettings ring;
  ring.rules = {{.algorithm = findAlgorithm(Collective::kAllReduce, "ring").value()}};
  const auto workersOfRing = [&](DataType type) {
    return planOf(request(Collective::kAllReduce, 1 << 24, type), factsWith(4), ring).workers;
  };
  EXPECT_EQ(workersOfRing(DataType::kFloat32), 1);
  EXPECT_EQ(workersOfRing(DataType::kInt32), 4);
  PlanRequest byProgram = request(Collective::kAllReduce, 1 << 24);
  byProgram.combiner = Combiner::kOrderedUser;
  EXPECT_EQ(planOf(byProgram, factsWith(4)).workers, 1);
  PlanRequest varied = request(Collective::kAllToAll, 1 << 24);
  varied.varied = true;
  EXPECT_EQ(planOf(varied, factsWith(4)).workers, 1);
}

TEST(WorkerPlans, MemoryThatIsBusyIsNotMadeFasterByThem) {
  PlanFacts facts = factsWith(2);
  facts.ranks = 64;
  facts.cpus = 256;
  facts.slotBytes = 32768;
  const PlanRequest call = request(Collective::kAllReduce, 1 << 24);
  EXPECT_EQ(planOf(call, facts).workers, 1);
  facts.memoryNodes = 32;
  EXPECT_EQ(planOf(call, facts).workers, 2);
}

TEST(WorkerPlans, ChannelsAndWorkersThatWereAskedForAreTaken) {
  PlanFacts facts = factsWith(3);
  facts.workersAsked = true;
  PlanSettings settings;
  settings.channels = 5;
  const PlanRequest small = request(Collective::kAllReduce, 100, DataType::kInt32);
  EXPECT_EQ(planOf(small, facts, settings).channels, 5);
  EXPECT_EQ(planOf(small, facts, settings).workers, 3);
  settings.channels = 2;
  EXPECT_EQ(planOf(small, facts, settings).workers, 2);
  EXPECT_EQ(planOf(small, facts).workers, 1);
  facts.workersAsked = false;
  EXPECT_EQ(planOf(small, facts, settings).workers, 1);
  const Plan large = planOf(request(Collective::kAllReduce, 1 << 24), facts, settings);
  EXPECT_EQ(large.channels, 2);
  EXPECT_EQ(large.workers, 2);
}

}  // namespace
}  // namespace rondo
