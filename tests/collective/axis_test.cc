// Every algorithm along each single axis, everything else as usual; more values than the matrix
// has.
#include <memory>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/collective/call_axes.h"

namespace rondo::testing {
namespace {

class AlongOneAxis : public ::testing::TestWithParam<std::size_t> {
 protected:
  AlgorithmId algorithm() const { return algorithmAt(GetParam()); }

  const AlgorithmInfo& info() const { return algorithmInfo(algorithm()); }

  CommunicatorSettings usualSettings() const {
    CommunicatorSettings settings;
    settings.ranks = 3;
    settings.algorithm = forcedBy(algorithm());
    return settings;
  }

  CallSpec usualCall() const {
    CallSpec spec;
    spec.collective = info().collective;
    spec.count = spec.collective == Collective::kBarrier ? 0 : 1000;
    return spec;
  }
};

TEST_P(AlongOneAxis, EveryValueOfTheMatrix) {
  const CoveringModel& model = callModel();
  // float sum of 37 elements on 3 ranks, all settings at their default
  Row usual(kCallAxes, 0);
  usual[kAlgorithm] = static_cast<int>(GetParam());
  usual[kRanks] = 2;
  if (info().collective != Collective::kBarrier) {
    usual[kType] = static_cast<int>(DataType::kFloat32);
    usual[kSize] = 4;
  }
  std::unique_ptr<Communicators> communicators;
  for (std::size_t axis = kType; axis < kCallAxes; ++axis) {
    for (std::size_t value = 0; value < model.axes[axis].values.size(); ++value) {
      Row row = usual;
      row[axis] = static_cast<int>(value);
      if (!isLegal(model, row)) continue;
      const CommunicatorSettings settings = settingsOf(row);
      if (communicators == nullptr || !(communicators->settings() == settings)) {
        communicators = std::make_unique<Communicators>(settings);
      }
      const std::string fault = runAndVerify(callOf(row, *communicators, 1), *communicators);
      ASSERT_EQ(fault, "") << describeRow(model, row);
    }
  }
}

TEST_P(AlongOneAxis, EveryTypeWithEveryReduction) {
  const Communicators communicators(usualSettings());
  CallSpec spec = usualCall();
  const int ops = isReduction(spec.collective) ? kReduceOpCount : 1;
  for (int type = 0; type < kDataTypeCount; ++type) {
    for (int op = 0; op < ops; ++op) {
      spec.type = static_cast<DataType>(type);
      spec.op = static_cast<ReduceOp>(op);
      const bool legal = !isReduction(spec.collective) || isReducible(spec.type, spec.op);
      if (!legal || !communicators.plan(spec.request()).ok()) continue;
      for (int kind = 0; kind < kInputKindCount; ++kind) {
        spec.inputs = static_cast<InputKind>(kind);
        ASSERT_EQ(runAndVerify(spec, communicators), "") << spec.text();
      }
    }
  }
}

TEST_P(AlongOneAxis, EveryCountTo130) {
  CommunicatorSettings settings = usualSettings();
  settings.chunkBytes = 64;
  settings.slots = 2;
  const Communicators communicators(settings);
  CallSpec spec = usualCall();
  if (spec.collective == Collective::kBarrier) return;
  for (spec.count = 0; spec.count <= 130; ++spec.count)
    ASSERT_EQ(runAndVerify(spec, communicators), "") << spec.text();
}

TEST_P(AlongOneAxis, EveryNumberOfRanksTo16WithEveryRoot) {
  for (int ranks = 1; ranks <= RankTeam::kMaxRanks; ++ranks) {
    CommunicatorSettings settings = usualSettings();
    settings.ranks = ranks;
    const Communicators communicators(settings);
    CallSpec spec = usualCall();
    const int roots = hasRoot(spec.collective) ? ranks : 1;
    for (spec.root = 0; spec.root < roots; ++spec.root) {
      for (const bool inPlace : {false, true}) {
        spec.inPlace = inPlace;
        ASSERT_EQ(runAndVerify(spec, communicators), "") << ranks << " ranks: " << spec.text();
      }
    }
  }
}

TEST_P(AlongOneAxis, ManyChannelsAndSlots) {
  for (const auto& [channels, slots, chunkBytes] :
       {std::tuple{1, 64, 64UL}, {32, 2, 64UL}, {7, 3, 128UL}, {32, 64, 0UL}}) {
    CommunicatorSettings settings = usualSettings();
    settings.channels = channels;
    settings.slots = slots;
    settings.chunkBytes = chunkBytes;
    const Communicators communicators(settings);
    CallSpec spec = usualCall();
    if (spec.collective != Collective::kBarrier) spec.count = 20011;
    ASSERT_EQ(runAndVerify(spec, communicators), "")
        << channels << " channels, " << slots << " slots: " << spec.text();
  }
}

std::string nameOf(const ::testing::TestParamInfo<std::size_t>& param) {
  const AlgorithmInfo& info = algorithmInfo(algorithmAt(param.param));
  return std::string(collectiveName(info.collective)) + "_" + std::string(info.name);
}

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         AlongOneAxis,
                         ::testing::Range(std::size_t{0}, kAlgorithmCount),
                         nameOf);

/// What an algorithm that is asked for by name can't do is refused on every rank, and does no harm.
TEST(Refusals, WhatAnAlgorithmMustNotDoIsRefusedAndTheCommunicatorWorksOn) {
  std::size_t refused = 0;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    if (!isReduction(info.collective)) continue;
    for (const bool reproducible : {false, true}) {
      CommunicatorSettings settings;
      settings.ranks = 2;
      settings.algorithm = forcedBy(algorithmAt(row));
      settings.reproducible = reproducible;
      settings.logLevel = "error";
      const Communicators communicators(settings);
      CallSpec spec;
      spec.collective = info.collective;
      spec.count = 5;
      for (int type = 0; type < kDataTypeCount; ++type) {
        for (int op = 0; op < static_cast<int>(ReduceOp::kPreMulSum); ++op) {
          spec.type = static_cast<DataType>(type);
          spec.op = static_cast<ReduceOp>(op);
          Row choice(kCallAxes, 0);
          choice[kAlgorithm] = static_cast<int>(row);
          choice[kType] = type;
          choice[kOp] = op;
          choice[kReproducible] = reproducible ? 1 : 0;
          if (isLegal(callModel(), choice)) continue;
          PreparedCall call(spec, communicators);
          ASSERT_TRUE(RankTeam::shared().run(
              2, [&](int rank) { call.execute(rank); }, [&] { communicators.abort(); }));
          const rondoResult_t wanted =
              isReducible(spec.type, spec.op) ? rondoNotSupported : rondoInvalidArgument;
          EXPECT_EQ(call.result(0), wanted) << spec.text() << call.verify();
          EXPECT_EQ(call.result(1), wanted) << spec.text() << call.verify();
          ++refused;
        }
      }
      spec.type = DataType::kInt32;
      spec.op = ReduceOp::kSum;
      EXPECT_EQ(runAndVerify(spec, communicators), "");
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace rondo::testing
