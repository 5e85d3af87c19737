// Values that libraries of this kind have got wrong: overflow, averages, NaN, truth values, narrow
// floats. The numbers in the names are those of our collection of public bug reports.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/prepared_call.h"

namespace rondo::testing {
namespace {

using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A call whose contributions and results are written out in a test.
struct Example {
  AlgorithmId algorithm{};
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::vector<Values> contributions;  ///< by rank
};

/// What `rank` has in its output after the call; the bits are verified besides.
Values outputOf(const Example& example, int rank) {
  CommunicatorSettings settings;
  settings.ranks = static_cast<int>(example.contributions.size());
  settings.algorithm = forcedBy(example.algorithm);
  const Communicators communicators(settings);
  CallSpec spec;
  spec.collective = algorithmInfo(example.algorithm).collective;
  spec.type = example.type;
  spec.op = example.op;
  spec.count = example.contributions.front().size();
  if (spec.collective == Collective::kReduceScatter) {
    spec.count /= example.contributions.size();
  }
  std::vector<Bytes> inputs;
  for (const Values& values : example.contributions)
    inputs.push_back(elementsOf(example.type, values));
  PreparedCall call(spec, communicators, std::move(inputs));
  EXPECT_TRUE(RankTeam::shared().run(
      settings.ranks, [&](int member) { call.execute(member); }, [&] { communicators.abort(); }));
  EXPECT_EQ(call.verify(), "") << settings.algorithm << " " << spec.text();
  Values values;
  const std::span<std::byte> output = call.output(rank);
  for (std::size_t at = 0; at < output.size(); at += elementBytes(example.type))
    values.push_back(elementValue(example.type, output.data() + at));
  return values;
}

std::vector<AlgorithmId> algorithmsOf(Collective collective) {
  std::vector<AlgorithmId> ids;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (algorithmInfo(algorithmAt(row)).collective == collective) ids.push_back(algorithmAt(row));
  }
  return ids;
}

bool inRankOrder(AlgorithmId id) {
  return algorithmInfo(id).order == FoldOrder::kRankOrder;
}

/// Every rank-order algorithm of every reduction, with the results that each rank must have.
void expectEverywhere(Example example, const Values& results) {
  const std::size_t ranks = example.contributions.size();
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    if (!isReduction(info.collective) || !inRankOrder(algorithmAt(row))) continue;
    example.algorithm = algorithmAt(row);
    Example call = example;
    if (info.collective == Collective::kReduceScatter) {
      // The same block for every rank.
      for (Values& values : call.contributions) {
        const Values block = values;
        for (std::size_t rank = 1; rank < ranks; ++rank)
          values.insert(values.end(), block.begin(), block.end());
      }
    }
    const bool rooted = info.collective == Collective::kReduce;
    for (int rank = 0; rank < (rooted ? 1 : static_cast<int>(ranks)); ++rank)
      EXPECT_EQ(outputOf(call, rank), results) << info.name << " rank " << rank;
  }
}

TEST(FieldValues, R01NarrowIntegerSumWraps) {
  for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
    const Example example{
        algorithm, DataType::kInt8, ReduceOp::kSum, {{120, -128, 127}, {100, -1, 1}}};
    for (const int rank : {0, 1})
      EXPECT_EQ(outputOf(example, rank), (Values{-36, 127, -128}));
  }
}

TEST(FieldValues, R02IntegerAverageTruncatesTowardZero) {
  for (const DataType type : {DataType::kInt8, DataType::kUint8, DataType::kInt32,
                              DataType::kUint32, DataType::kInt64, DataType::kUint64}) {
    expectEverywhere({{}, type, ReduceOp::kAvg, {{1}, {2}, {3}, {4}}}, {2});
    expectEverywhere({{}, type, ReduceOp::kAvg, {{1}, {1}, {0}}}, {0});
  }
  for (const DataType type : {DataType::kInt8, DataType::kInt32, DataType::kInt64})
    expectEverywhere({{}, type, ReduceOp::kAvg, {{-1}, {-2}, {-3}, {-4}}}, {-2});
  // The sum does not wrap in the element's own type.
  expectEverywhere({{}, DataType::kInt8, ReduceOp::kAvg, {{127}, {127}, {127}, {127}}}, {127});
  expectEverywhere({{}, DataType::kUint8, ReduceOp::kAvg, {{255}, {255}, {254}, {255}}}, {254});
}

/// One rank holds `large`, the others 1.
Example oneLarge(AlgorithmId algorithm, DataType type, double large, std::size_t holder) {
  Example example{algorithm, type, ReduceOp::kSum, std::vector<Values>(8, Values{1})};
  example.contributions[holder] = {large};
  return example;
}

TEST(FieldValues, R06RankOrderAlgorithmsAddNarrowFloatsUnrounded) {
  for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
    if (!inRankOrder(algorithm)) continue;
    for (std::size_t holder = 0; holder < 8; ++holder) {
      EXPECT_EQ(outputOf(oneLarge(algorithm, DataType::kBfloat16, 256, holder), 3), Values{264});
      EXPECT_EQ(outputOf(oneLarge(algorithm, DataType::kFloat16, 2048, holder), 3), Values{2056});
    }
  }
}

TEST(FieldValues, R06ThePlannerTakesNoHopRoundingForNarrowFloatsByItself) {
  const Communicators communicators({.ranks = 8});
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (std::size_t count = 1; count < (std::size_t{1} << 32); count *= 4) {
        PlanRequest request{static_cast<Collective>(collective), count, type};
        if (!isReduction(request.collective)) continue;
        const Result<Plan> plan = communicators.plan(request);
        ASSERT_TRUE(plan.ok());
        EXPECT_TRUE(inRankOrder(plan->algorithm)) << algorithmInfo(plan->algorithm).name;
      }
    }
  }
}

/// A single element of an eight-rank ring belongs to rank 0: it starts at rank 1 and ends at 0.
TEST(FieldValues, R06TheRingByNameRoundsAtEachHop) {
  const AlgorithmId ring = *findAlgorithm(Collective::kAllReduce, "ring");
  // The order is 1, 2, ..., 7, 0. After 256 a bfloat16 has steps of 2: each 1 alone is lost.
  EXPECT_EQ(outputOf(oneLarge(ring, DataType::kBfloat16, 256, 1), 0), Values{256});
  EXPECT_EQ(outputOf(oneLarge(ring, DataType::kFloat16, 2048, 1), 0), Values{2048});
  EXPECT_EQ(outputOf(oneLarge(ring, DataType::kBfloat16, 256, 7), 0), Values{264});
  // 7 + 256 = 263, rounded once: a tie, to even.
  EXPECT_EQ(outputOf(oneLarge(ring, DataType::kBfloat16, 256, 0), 0), Values{264});
}

bool allNan(const Values& values) {
  return std::ranges::all_of(values, [](double value) { return std::isnan(value); });
}

TEST(FieldValues, R09NanWinsWhereverItIs) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                              DataType::kFloat64, DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    // All 24 placements at once: element k has the k-th permutation.
    Values order{0, 1, 2, 3};
    const Values holdings{1, kNan, 3, 4};
    std::vector<Values> contributions(4);
    do {
      for (std::size_t rank = 0; rank < 4; ++rank)
        contributions[rank].push_back(holdings[static_cast<std::size_t>(order[rank])]);
    } while (std::ranges::next_permutation(order).found);
    ASSERT_EQ(contributions[0].size(), 24U);
    for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
      for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
        for (int rank = 0; rank < 4; ++rank) {
          const Values got = outputOf({algorithm, type, op, contributions}, rank);
          EXPECT_EQ(got.size(), 24U);
          EXPECT_TRUE(allNan(got)) << algorithmInfo(algorithm).name << dataTypeName(type);
        }
      }
    }
  }
}

TEST(FieldValues, R09NegativeZeroIsBelowPositiveZero) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                              DataType::kFloat64, DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
      const std::vector<Values> zeros{{-0.0, 0.0, 0.0}, {0.0, -0.0, 0.0}, {0.0, 0.0, -0.0}};
      for (const double value : outputOf({algorithm, type, ReduceOp::kMin, zeros}, 1)) {
        EXPECT_EQ(value, 0);
        EXPECT_TRUE(std::signbit(value));
      }
      for (const double value : outputOf({algorithm, type, ReduceOp::kMax, zeros}, 1)) {
        EXPECT_EQ(value, 0);
        EXPECT_FALSE(std::signbit(value));
      }
    }
  }
}

TEST(FieldValues, R10SumOfTruthValuesIsOrAndProductIsAnd) {
  for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
    const std::vector<Values> truths{{1, 0, 1, 0}, {1, 1, 0, 0}};
    for (const int rank : {0, 1}) {
      EXPECT_EQ(outputOf({algorithm, DataType::kBool, ReduceOp::kSum, truths}, rank),
                (Values{1, 1, 1, 0}));
      EXPECT_EQ(outputOf({algorithm, DataType::kBool, ReduceOp::kProd, truths}, rank),
                (Values{1, 0, 0, 0}));
    }
  }
}

TEST(FieldValues, R10SixteenTruthsAreOneTruthNotACount) {
  // As bytes 16 x 16 would wrap to 0.
  for (const AlgorithmId algorithm : algorithmsOf(Collective::kAllReduce)) {
    const Example example{algorithm, DataType::kBool, ReduceOp::kSum,
                          std::vector<Values>(16, Values{1})};
    EXPECT_EQ(outputOf(example, 5), Values{1});
  }
}

TEST(FieldValues, R10AverageOfTruthValuesIsRefusedEverywhereAndHarmless) {
  const Communicators communicators({.ranks = 2, .logLevel = "error"});
  CallSpec spec;
  spec.type = DataType::kBool;
  spec.op = ReduceOp::kAvg;
  spec.count = 4;
  PreparedCall call(spec, communicators);
  ASSERT_TRUE(RankTeam::shared().run(2, [&](int rank) { call.execute(rank); }));
  EXPECT_EQ(call.result(0), rondoInvalidArgument);
  EXPECT_EQ(call.result(1), rondoInvalidArgument);
  spec.op = ReduceOp::kSum;
  EXPECT_EQ(runAndVerify(spec, communicators), "");
}

TEST(FieldValues, R10EightBitFloatsAreGatheredAsBitsAndAddedInSingle) {
  for (const DataType type : {DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const Communicators communicators({.ranks = 2});
    CallSpec spec;
    spec.collective = Collective::kAllGather;
    spec.type = type;
    spec.count = 512;
    spec.inputs = InputKind::kRaw;
    EXPECT_EQ(runAndVerify(spec, communicators), "");
  }
  // 16 + 8 x 1: each 1 alone is lost in four (three) bits of precision; 24 is a number of both.
  std::vector<Values> contributions(9, Values{1});
  contributions[0] = {16};
  expectEverywhere({{}, DataType::kFloat8E4m3, ReduceOp::kSum, contributions}, {24});
  expectEverywhere({{}, DataType::kFloat8E5m2, ReduceOp::kSum, contributions}, {24});
}

TEST(FieldValues, R11HalfAveragesNeitherOverflowNorVanish) {
  const double tiny = std::ldexp(1.0, -24);
  const std::vector<Values> contributions(8, Values{8192, tiny, 10000});
  expectEverywhere({{}, DataType::kFloat16, ReduceOp::kAvg, contributions}, {8192, tiny, 10000});
}

}  // namespace
}  // namespace rondo::testing
