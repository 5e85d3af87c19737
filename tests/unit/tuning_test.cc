// Rules by which users choose algorithms, tables of measurements, and what the planner makes of
// both.

#include <gtest/gtest.h>

#include "src/plan_rule.h"
#include "src/planner.h"
#include "src/tuning_table.h"

namespace rondo {
namespace {

AlgorithmId allReduceBy(std::string_view name) {
  return findAlgorithm(Collective::kAllReduce, name).value();
}

PlanFacts factsFor(int ranks) {
  return {.ranks = ranks, .cpus = ranks, .slotBytes = 65536, .slotCount = 4};
}

PlanRequest allReduceOf(std::size_t bytes) {
  return {.collective = Collective::kAllReduce, .count = bytes / 4, .type = DataType::kFloat32};
}

TEST(PlanRules, ReadsAlgorithmChunkAndSizes) {
  const auto rules = parsePlanRules(
      "all_reduce:one_shot@0-32K,all_reduce:two_shot/16K@32K-1M,broadcast:tree,all_reduce:ring");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ASSERT_EQ(rules->size(), 4U);
  EXPECT_EQ((*rules)[0], (PlanRule{allReduceBy("one_shot"), 0, 0, 32768}));
  EXPECT_EQ((*rules)[1], (PlanRule{allReduceBy("two_shot"), 16384, 32768, 1048576}));
  EXPECT_EQ((*rules)[3], (PlanRule{.algorithm = allReduceBy("ring")}));
}

TEST(PlanRules, TextCanBeReadAgain) {
  for (const PlanRule& rule : {PlanRule{.algorithm = allReduceBy("tree")},
                               PlanRule{allReduceBy("ring"), 4096, 0, PlanRule{}.lastBytes},
                               PlanRule{allReduceBy("two_shot"), 64, 100, 2000}}) {
    const auto again = parsePlanRules(planRuleText(rule));
    ASSERT_TRUE(again.ok()) << planRuleText(rule) << ": " << again.status().message();
    EXPECT_EQ(again->front(), rule) << planRuleText(rule);
  }
}

TEST(PlanRules, TheFirstThatFitsCounts) {
  const auto rules = parsePlanRules("all_reduce:one_shot@0-1000,all_reduce:ring@500-2000");
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(findPlanRule(*rules, Collective::kAllReduce, 700), &(*rules)[0]);
  EXPECT_EQ(findPlanRule(*rules, Collective::kAllReduce, 1000), &(*rules)[0]);
  EXPECT_EQ(findPlanRule(*rules, Collective::kAllReduce, 1001), &(*rules)[1]);
  EXPECT_EQ(findPlanRule(*rules, Collective::kAllReduce, 2001), nullptr);
  EXPECT_EQ(findPlanRule(*rules, Collective::kBroadcast, 700), nullptr);
}

TEST(PlanRules, RefusesWhatMakesNoSense) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "none of the collectives"},
      {"all_reduce", "no algorithm"},
      {"all_reduce:magic", "one_shot, two_shot"},
      {"all_reduce:ring/100", "no multiple of 64"},
      {"all_reduce:ring/0", "no multiple of 64"},
      {"all_reduce:ring/", "no size"},
      {"all_reduce:ring@", "no size"},
      {"all_reduce:ring@1M-1K", "wrong order"},
      {"all_reduce:ring,all_reduce:tree", "twice"},
      {"all_reduce:ring@1K-2M,all_reduce:tree@2K-1M", "twice"},
      {"all_reduce:ring,", "none of the collectives"}};
  for (const auto& [text, complaint] : cases) {
    const auto rules = parsePlanRules(text);
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_NE(rules.status().message().find(complaint), std::string_view::npos)
        << text << ": " << rules.status().message();
  }
}

constexpr std::string_view kTable =
    "# measured on a machine\n"
    "all_reduce 2 4096 one_shot 65536 1.5\n"
    "all_reduce 2 4096 two_shot 65536 2.5  # slower\n"
    "\n"
    "all_reduce 2 1048576 ring 65536 90\n"
    "all_reduce 2 1048576 two_shot 65536 100\n"
    "all_reduce 2 1048576 two_shot 16384 80\n"
    "all_reduce 4 1048576 tree 16384 300\n";

TEST(TuningTable, TextCanBeReadAgainAndHasTheSameHash) {
  const auto table = TuningTable::parse(kTable);
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->entries().size(), 6U);
  const auto again = TuningTable::parse(table->text());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(std::ranges::equal(table->entries(), again->entries()));
  EXPECT_EQ(table->hash(), again->hash());
  EXPECT_NE(table->hash(), TuningTable{}.hash());
}

TEST(TuningTable, KnowsTwoLevels) {
  const auto table = TuningTable::parse("all_reduce 4 4096 two_level 65536 9.5\n");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->entries().front().algorithm, allReduceBy("two_level"));
}

TEST(TuningTable, FindsTheNearestSizeByRatio) {
  const auto table = TuningTable::parse(kTable);
  ASSERT_TRUE(table.ok());
  const auto sizeAt = [&](std::size_t bytes) {
    return table->nearest(Collective::kAllReduce, 2, bytes).front().bytes;
  };
  EXPECT_EQ(sizeAt(1), 4096U);
  EXPECT_EQ(sizeAt(65535), 4096U);
  EXPECT_EQ(sizeAt(65536), 1048576U);
  EXPECT_EQ(sizeAt(std::size_t{1} << 40), 1048576U);
  EXPECT_EQ(table->nearest(Collective::kAllReduce, 2, 5000).size(), 2U);
  EXPECT_TRUE(table->nearest(Collective::kAllReduce, 3, 5000).empty());
  EXPECT_TRUE(table->nearest(Collective::kBroadcast, 2, 5000).empty());
}

TEST(TuningTable, NamesTheLineThatIsWrong) {
  for (const std::string_view line :
       {"all_reduce 2 4096 one_shot 65536", "all_reduce 2 4096 magic 65536 1",
        "all_reduce 0 4096 ring 65536 1", "all_reduce 2 4096 ring 0 1",
        "all_reduce 2 4096 ring 64 -1", "all_reduce 2 4096 ring 64 nan",
        "all_reduce 2 -5 ring 64 1", "all_reduce 2 4096 ring/64 64 1",
        "broadcast 2 4096 two_shot 64 1"}) {
    const auto table = TuningTable::parse(fmt::format("# first\n{}\n", line));
    ASSERT_FALSE(table.ok()) << line;
    EXPECT_NE(table.status().message().find("line 2"), std::string_view::npos);
  }
  const auto missing = TuningTable::load("/nonexistent/table");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("/nonexistent/table"), std::string_view::npos);
}

TEST(TunedPlanner, BelievesMeasurementsWhereThereAreSome) {
  PlanSettings settings;
  settings.tuning = std::make_shared<const TuningTable>(*TuningTable::parse(kTable));
  const auto plan = makePlan(allReduceOf(1 << 20), factsFor(2), settings);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->algorithm, allReduceBy("two_shot"));
  EXPECT_EQ(plan->chunkElems * sizeof(float), 16384U);
  EXPECT_EQ(plan->measuredMicros, 80);
  EXPECT_EQ(makePlan(allReduceOf(1 << 20), factsFor(4), settings)->algorithm, allReduceBy("tree"));
  EXPECT_EQ(makePlan(allReduceOf(1 << 20), factsFor(3), settings)->measuredMicros, 0);
}

TEST(TunedPlanner, StaysReproducibleAndObeysRules) {
  PlanSettings settings;
  settings.tuning = std::make_shared<const TuningTable>(*TuningTable::parse(kTable));
  settings.reproducible = true;
  const auto reproducible = makePlan(allReduceOf(1 << 20), factsFor(4), settings);
  ASSERT_TRUE(reproducible.ok());
  EXPECT_EQ(algorithmInfo(reproducible->algorithm).order, FoldOrder::kRankOrder);
  settings.reproducible = false;
  settings.rules = *parsePlanRules("all_reduce:ring/4K@1M-2M");
  const auto ruled = makePlan(allReduceOf(1 << 20), factsFor(2), settings);
  ASSERT_TRUE(ruled.ok());
  EXPECT_EQ(ruled->algorithm, allReduceBy("ring"));
  EXPECT_EQ(ruled->chunkElems * sizeof(float), 4096U);
  EXPECT_EQ(makePlan(allReduceOf(3 << 20), factsFor(2), settings)->algorithm,
            allReduceBy("two_shot"));
}

TEST(Planner, AChunkOfARuleFitsIntoSlotsAndElements) {
  PlanSettings settings;
  settings.rules = *parsePlanRules("all_reduce:two_shot/64M");
  EXPECT_EQ(makePlan(allReduceOf(1 << 20), factsFor(2), settings)->chunkElems * 4, 65536U);
  settings.rules = *parsePlanRules("all_reduce:two_shot/64");
  EXPECT_EQ(makePlan(allReduceOf(1 << 20), factsFor(2), settings)->chunkElems * 4, 64U);
}

}  // namespace
}  // namespace rondo
