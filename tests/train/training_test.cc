// The promises of the stages: the same parameters bit by bit, memory as computed, steps that all
// ranks skip or take together.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/train_gpt/gpt.h"
#include "examples/train_gpt/text_data.h"
#include "rondo/train/parallel_training.h"
#include "src/train/bfloat16.h"
#include "src/train/exact_squares.h"
#include "tests/train/rank_threads.h"

namespace rondo::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::runRanks;

/// Widths that no number of ranks divides.
constexpr GptShape kShape{.layers = 2, .width = 20, .heads = 2, .context = 16, .vocabulary = 64};

/// A text with something to learn.
std::vector<std::uint8_t> someText() {
  std::vector<std::uint8_t> text;
  for (std::uint32_t i = 0; i < 3000; ++i)
    text.push_back(static_cast<std::uint8_t>((i * i / 7 + i % 5) % 64));
  return text;
}

TrainingOptions optionsOf(int stage) {
  TrainingOptions options;
  options.stage = stage;
  options.maxNorm = 1;
  options.buckets.stallAfter = std::chrono::milliseconds{0};
  return options;
}

/// All parameters, unit after unit. Collective.
std::vector<float> parametersOf(ParallelTraining& training) {
  std::vector<float> all;
  for (std::size_t unit = 0; unit < training.layout().units(); ++unit) {
    const float* values = training.acquire(unit);
    all.insert(all.end(), values, values + training.layout().unitElems(unit));
    training.release(unit);
  }
  return all;
}

struct History {
  std::vector<double> losses;  ///< means over the global batch
  std::vector<double> norms;
  std::vector<float> parameters;
};

/// How a run is cut up; the global batch is ranks x micro-batches x sequences.
struct Cut {
  int sequences = 2;
  int microBatches = 1;
  int steps = 8;
  bool recompute = false;
};

History train(const Communicator& comm, const TrainingOptions& options, const Cut& cut) {
  auto training = makeTraining(comm, gptParameters(kShape), options);
  training->initialize([](const ParameterSpec& parameter, std::span<float> values) {
    initializeGptParameter(kShape, parameter, 7, values);
  });
  Gpt<float> model(kShape, Blas(), cut.recompute);
  TextData data(someText(), kShape.context, 9);
  const int own = cut.sequences * cut.microBatches;
  const LearningRate rate{.peak = 3e-3, .warmup = 3};
  History run;
  for (int step = 0; step < cut.steps; ++step) {
    std::vector<double> loss{0};
    for (int micro = 0; micro < cut.microBatches; ++micro) {
      const int first = (step * comm.ranks() + comm.rank()) * own + micro * cut.sequences;
      const bool last = micro + 1 == cut.microBatches;
      training->synchronize(last);
      const float scale = training->lossScale() / static_cast<float>(cut.microBatches);
      loss[0] += model.lossAndGradient(data.batch(static_cast<std::uint64_t>(first), cut.sequences),
                                       *training, scale) /
                 cut.microBatches;
      if (!last) training->endMicroBatch();
    }
    run.norms.push_back(training->step(rate.at(training->updates() + 1)).gradientNorm);
    comm.allReduce(loss, rondoAvg);
    run.losses.push_back(loss[0]);
  }
  run.parameters = parametersOf(*training);
  return run;
}

/// One pass: the gradient of each element of a tensor is `value(tensor, element)`.
template <class Value>
void pass(ParallelTraining& training, const Value& value) {
  for (std::size_t tensor = training.layout().size(); tensor-- > 0;) {
    float* gradient = training.gradient(tensor);
    for (std::size_t i = 0; i < training.layout()[tensor].count; ++i)
      gradient[i] += value(tensor, i);
    training.ready(tensor);
  }
}

TrainingOptions plainSgd(int stage) {
  TrainingOptions options = optionsOf(stage);
  options.maxNorm = 0;
  options.optimizer = {OptimizerKind::kSgd, 0, 0, 0, 0};
  return options;
}

TEST(Stages, GiveTheSameBitsWithAndWithoutOverlapBucketsAndRecomputation) {
  runRanks(3, [](const Communicator& comm) {
    const History wanted = train(comm, optionsOf(0), {});
    EXPECT_LT(wanted.losses.back(), wanted.losses.front());
    for (const int stage : {0, 1, 2, 3}) {
      for (const bool overlap : {true, false}) {
        TrainingOptions options = optionsOf(stage);
        options.buckets.overlap = overlap;
        options.buckets.firstCapBytes = options.buckets.capBytes = overlap ? 1000 : 1U << 30U;
        const History run = train(comm, options, {.recompute = overlap});
        EXPECT_TRUE(run.parameters == wanted.parameters) << "stage " << stage << " " << overlap;
        EXPECT_EQ(run.losses, wanted.losses);
        EXPECT_EQ(run.norms, wanted.norms);
      }
    }
  });
}

TEST(Stages, GiveTheSameBitsWithMicroBatchesAndSgd) {
  runRanks(2, [](const Communicator& comm) {
    const Cut cut{.sequences = 1, .microBatches = 3, .steps = 5};
    TrainingOptions options = optionsOf(0);
    options.optimizer.kind = OptimizerKind::kSgd;
    options.lossScale.value = 1024;
    const History wanted = train(comm, options, cut);
    for (options.stage = 1; options.stage <= 3; ++options.stage)
      EXPECT_TRUE(train(comm, options, cut).parameters == wanted.parameters) << options.stage;
  });
}

TEST(Stages, GiveTheSameBitsWhenTheyCompress) {
  runRanks(3, [](const Communicator& comm) {
    TrainingOptions options = optionsOf(1);
    options.buckets.compression = GradientCompression{};
    const History wanted = train(comm, options, {});
    EXPECT_LT(wanted.losses.back(), wanted.losses.front());
    EXPECT_FALSE(wanted.parameters == train(comm, optionsOf(1), {}).parameters);
    for (options.stage = 2; options.stage <= 3; ++options.stage) {
      for (const bool overlap : {true, false}) {
        options.buckets.overlap = overlap;
        EXPECT_TRUE(train(comm, options, {}).parameters == wanted.parameters) << options.stage;
      }
    }
    // All-reduces round twice, reduce-scatters once: not the same, but nearly.
    options.stage = 0;
    const History dataParallel = train(comm, options, {});
    EXPECT_NEAR(dataParallel.losses.back(), wanted.losses.back(), 0.02 * wanted.losses.back());
  });
}

TEST(Stages, GiveTheSameBitsWithParametersInBfloat16) {
  runRanks(3, [](const Communicator& comm) {
    TrainingOptions options = optionsOf(0);
    options.precision = ParameterPrecision::kBf16;
    const History wanted = train(comm, options, {});
    EXPECT_LT(wanted.losses.back(), wanted.losses.front());
    EXPECT_NE(wanted.losses.front(), train(comm, optionsOf(0), {.steps = 1}).losses.front());
    for (const float value : wanted.parameters)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(value) & 0xffffU, 0U);
    for (options.stage = 1; options.stage <= 3; ++options.stage) {
      const History run = train(comm, options, {});
      EXPECT_TRUE(run.parameters == wanted.parameters) << options.stage;
      EXPECT_EQ(run.losses, wanted.losses);
    }
  });
}

TEST(Stages, KeepUpdatesThatBfloat16WouldLose) {
  runRanks(2, [](const Communicator& comm) {
    for (const int stage : {0, 1, 2, 3}) {
      TrainingOptions options = plainSgd(stage);
      options.precision = ParameterPrecision::kBf16;
      auto training = makeTraining(comm, {{"a", 3, 0}}, options);
      training->initialize(
          [](const ParameterSpec&, std::span<float> values) { std::ranges::fill(values, 1.0F); });
      // 1 - 2^-10 is 1 in bfloat16: each step would be lost, sixteen of them are not.
      for (int step = 0; step < 16; ++step) {
        EXPECT_EQ(parametersOf(*training)[0],
                  fromBfloat16(toBfloat16(1 - static_cast<float>(step) * 0x1p-10F)));
        pass(*training, [](std::size_t, std::size_t) { return 0x1p-10F; });
        training->step(1);
      }
      EXPECT_EQ(parametersOf(*training), std::vector<float>(3, 1 - 0x1p-6F)) << stage;
    }
  });
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(fromBfloat16(toBfloat16(1 + 0x1p-8F)), 1.0F);
  EXPECT_EQ(fromBfloat16(toBfloat16(1 + 0x1p-8F + 0x1p-20F)), 1 + 0x1p-7F);
  EXPECT_EQ(fromBfloat16(toBfloat16(1 + 3 * 0x1p-8F)), 1 + 0x1p-6F);
  EXPECT_EQ(fromBfloat16(toBfloat16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(fromBfloat16(toBfloat16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Stages, FollowOneRankWithTheSameGlobalBatch) {
  History one;
  runRanks(1, [&](const Communicator& comm) {
    one = train(comm, optionsOf(0), {.sequences = 4, .microBatches = 2, .steps = 30});
  });
  runRanks(4, [&](const Communicator& comm) {
    const History four = train(comm, optionsOf(2), {.sequences = 2, .steps = 30});
    for (std::size_t step = 0; step < one.losses.size(); ++step)
      EXPECT_NEAR(four.losses[step], one.losses[step], 1e-4 * one.losses[step]) << step;
    EXPECT_LT(four.losses.back(), 0.97 * four.losses.front());
  });
}

TEST(Stages, HoldWhatTheTableSays) {
  runRanks(4, [](const Communicator& comm) {
    const ParameterLayout layout(gptParameters(kShape));
    std::size_t largest = 0;
    for (std::size_t unit = 0; unit < layout.units(); ++unit)
      largest = std::max(largest, layout.unitElems(unit) * sizeof(float));
    for (const int stage : {0, 1, 2, 3, 4, 5, 6, 7}) {
      TrainingOptions options = optionsOf(stage % 4);
      if (stage >= 4) options.precision = ParameterPrecision::kBf16;
      auto training = makeTraining(comm, gptParameters(kShape), options);
      Gpt<float> model(kShape, Blas(), false);
      TextData data(someText(), kShape.context, 9);
      for (int step = 0; step < 3; ++step) {
        model.lossAndGradient(data.batch(0, 1), *training, 1);
        training->step(1e-3);
      }
      const TrainingMemory wanted = expectedMemory(layout, options, comm.ranks(), comm.rank());
      EXPECT_EQ(training->memory(), wanted) << "stage " << stage;
      // Whole units are in use beside that: the embedding for the head, a block and the one that
      // comes, each with gradients that are on their way.
      const std::size_t most[]{0, 0, 4, 6};
      const std::size_t working = (most[stage % 4] + (stage >= 4 ? 3 : 0)) * largest;
      EXPECT_LE(training->peakMemory().total(), wanted.total() + working) << "stage " << stage;
      // A quarter each, up to what rounding up adds.
      if (stage == 3) {
        EXPECT_LE(training->memory().total(), 4 * layout.elems() + layout.units() * 4 * 16);
      }
    }
  });
}

TEST(Shares, AreEqualPartsRoundedUp) {
  const auto sizes = [](std::size_t elems, int ranks) {
    std::vector<std::size_t> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(shareOf(elems, ranks, rank).size());
    return all;
  };
  EXPECT_THAT(sizes(10, 4), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(sizes(2, 4), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(sizes(5, 2), ElementsAre(3, 2));
  EXPECT_THAT(sizes(7, 3), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes(96, 5), ElementsAre(20, 20, 20, 20, 16));
  EXPECT_THAT(sizes(0, 4), ElementsAre(0, 0, 0, 0));
}

TEST(Stages, TakeTensorsSmallerThanTheNumberOfRanks) {
  // deepspeedai/DeepSpeed#129: empty shares.
  runRanks(4, [](const Communicator& comm) {
    for (const int stage : {0, 1, 2, 3}) {
      auto training =
          makeTraining(comm, {{"a", 2, 0}, {"none", 0, 1}, {"b", 1, 2}}, plainSgd(stage));
      pass(*training, [](std::size_t, std::size_t) { return 1.0F; });
      EXPECT_EQ(training->step(0.1).gradientNorm, std::sqrt(3.0));
      EXPECT_THAT(parametersOf(*training), ElementsAre(-0.1F, -0.1F, -0.1F)) << stage;
    }
  });
}

TEST(Stages, AddUpMicroBatchesAlike) {
  // huggingface/accelerate#3877: 1, 2, 3 and 5, 6, 7, where the second lacks a tensor.
  runRanks(2, [](const Communicator& comm) {
    for (const int stage : {0, 1, 2, 3}) {
      auto training = makeTraining(comm, {{"a", 3, 0}, {"b", 3, 1}}, plainSgd(stage));
      for (const int micro : {1, 2, 3}) {
        training->synchronize(micro == 3);
        const auto value = static_cast<float>(micro + 4 * comm.rank());
        for (const std::size_t tensor : {1, 0}) {
          if (micro == 2 && tensor == 0) continue;
          std::for_each_n(training->gradient(tensor), 3, [&](float& to) { to += value; });
          training->ready(tensor);
        }
        if (micro != 3) training->endMicroBatch();
      }
      training->step(1);
      EXPECT_THAT(parametersOf(*training), ElementsAre(-8, -8, -8, -12, -12, -12)) << stage;
    }
  });
}

TEST(Stages, AllSkipWhenOneRankOverflows) {
  // facebookresearch/fairscale#179: an infinity in one rank's share.
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    runRanks(3, [bad](const Communicator& comm) {
      for (const int stage : {0, 1, 2, 3}) {
        TrainingOptions options = plainSgd(stage);
        options.lossScale = {65536, 2, 0};
        auto training = makeTraining(comm, {{"a", 9, 0}}, options);
        pass(*training, [&](std::size_t, std::size_t i) {
          return comm.rank() == 1 && i == 4 ? bad : 65536.0F;
        });
        const StepResult skipped = training->step(1);
        EXPECT_TRUE(skipped.skipped);
        EXPECT_FALSE(std::isfinite(skipped.gradientNorm));
        EXPECT_EQ(training->lossScale(), 32768);
        EXPECT_EQ(training->updates(), 0U);
        EXPECT_EQ(training->skippedSteps(), 1U);
        EXPECT_EQ(parametersOf(*training), std::vector<float>(9, 0.0F));
        for (int good = 0; good < 2; ++good) {
          pass(*training, [](std::size_t, std::size_t) { return 32768.0F; });
          const StepResult taken = training->step(0.5);
          EXPECT_FALSE(taken.skipped);
          EXPECT_EQ(taken.gradientNorm, 3);
        }
        EXPECT_EQ(parametersOf(*training), std::vector<float>(9, -1.0F));
        EXPECT_EQ(training->lossScale(), 65536);
      }
    });
  }
}

TEST(Stages, ShortenGradientsByTheNormOverAllRanks) {
  // pytorch/pytorch#88955: norms of shares, or of copies.
  runRanks(2, [](const Communicator& comm) {
    for (const int stage : {0, 1, 2, 3}) {
      TrainingOptions options = plainSgd(stage);
      options.maxNorm = 1;
      auto training = makeTraining(comm, {{"a", 2, 0}}, options);
      pass(*training, [](std::size_t, std::size_t i) { return i == 0 ? 3.0F : 4.0F; });
      EXPECT_EQ(training->step(1).gradientNorm, 5);
      const std::vector<float> parameters = parametersOf(*training);
      EXPECT_FLOAT_EQ(parameters[0], -0.6F);
      EXPECT_FLOAT_EQ(parameters[1], -0.8F);
      pass(*training, [](std::size_t, std::size_t) { return 0.0F; });
      EXPECT_EQ(training->step(1).gradientNorm, 0);
      EXPECT_EQ(parametersOf(*training), parameters);
    }
  });
}

TEST(Stages, TakeGradientsInAnyOrder) {
  // deepspeedai/DeepSpeed#2343: ranks whose layers end in different orders.
  runRanks(2, [](const Communicator& comm) {
    for (const int stage : {0, 1, 2, 3}) {
      TrainingOptions options = plainSgd(stage);
      options.buckets.firstCapBytes = options.buckets.capBytes = 16;
      auto training =
          makeTraining(comm, {{"p0", 4, 0}, {"p1", 4, 1}, {"p2", 4, 2}, {"p3", 4, 3}}, options);
      for (int step = 0; step < 3; ++step) {
        for (std::size_t i = 0; i < 4; ++i) {
          const std::size_t tensor = comm.rank() == 0 ? 3 - i : i;
          std::fill_n(training->gradient(tensor), 4, static_cast<float>(tensor + 1));
          training->ready(tensor);
        }
        training->step(1);
      }
      EXPECT_THAT(parametersOf(*training),
                  ElementsAre(-3, -3, -3, -3, -6, -6, -6, -6, -9, -9, -9, -9, -12, -12, -12, -12))
          << stage;
    }
  });
}

TEST(Stages, NameTensorsThatWereForgotten) {
  runRanks(2, [](const Communicator& comm) {
    for (const int stage : {0, 2}) {
      auto training = makeTraining(comm, {{"a", 4, 0}, {"b", 4, 1}}, plainSgd(stage));
      training->ready(1);
      if (comm.rank() == 0) training->ready(0);
      try {
        training->step(1);
        ADD_FAILURE() << "nothing thrown";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("a was never marked on rank 1"));
      }
      pass(*training, [](std::size_t, std::size_t) { return 2.0F; });
      training->step(1);
      EXPECT_EQ(parametersOf(*training), std::vector<float>(8, -2.0F));
    }
  });
}

TEST(Stages, ReportRanksThatStandStill) {
  std::mutex mutex;
  int reports = 0;
  runRanks(3, [&](const Communicator& comm) {
    TrainingOptions options = plainSgd(2);
    options.buckets.stallAfter = std::chrono::milliseconds{50};
    options.buckets.onStall = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      if (line.find("w1: missing on rank 1, ready on ranks 0, 2") != std::string::npos) ++reports;
    };
    const auto training = makeTraining(
        comm, {{.name = "w0", .count = 5, .unit = 0}, {.name = "w1", .count = 5, .unit = 1}},
        options);
    training->initialize([](const ParameterSpec&, std::span<float>) {});
    const auto reported = [&] {
      const std::lock_guard lock(mutex);
      return reports >= 3;
    };
    while (comm.rank() == 1 && !reported() && comm.asyncError() == rondoSuccess)
      std::this_thread::yield();
    pass(*training, [](std::size_t, std::size_t) { return 1.0F; });
    training->step(0.1);
  });
  EXPECT_GE(reports, 3);
}

TEST(Stages, MustBeTheSameOnAllRanks) {
  runRanks(2, [](const Communicator& comm) {
    try {
      static_cast<void>(makeTraining(comm, {{"a", 4, 0}}, plainSgd(comm.rank() + 1)));
      ADD_FAILURE() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("stage 2 on rank 1"), HasSubstr("stage 1 on rank 0")));
    }
  });
}

TEST(ExactSquares, DependOnNoOrderAndNoPartition) {
  std::vector<float> values;
  for (int i = 0; i < 200000; ++i)
    values.push_back(std::ldexp(1.0F + static_cast<float>(i % 977) / 977, i % 250 - 125));
  values.push_back(std::numeric_limits<float>::denorm_min());
  values.push_back(std::numeric_limits<float>::max());
  ExactSquares forward;
  forward.add(values);
  std::ranges::reverse(values);
  ExactSquares backward;
  for (std::size_t at = 0; at < values.size(); at += 313)
    backward.add(std::span(values).subspan(at, std::min<std::size_t>(313, values.size() - at)));
  EXPECT_EQ(forward.norm(), backward.norm());
  EXPECT_GT(forward.norm(), static_cast<double>(std::numeric_limits<float>::max()));
}

TEST(ExactSquares, AreExact) {
  ExactSquares small;
  small.add(std::vector<float>(4, std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(small.norm(), 2 * 0x1p-149);
  // 1 is lost beside 2^60 in double, and here only when the root is taken.
  ExactSquares mixed;
  mixed.add(std::vector<float>{0x1p60F});
  mixed.add(std::vector<float>(1U << 17U, 1.0F));
  EXPECT_EQ(mixed.norm(), std::sqrt(0x1p120 + 0x1p17));
  ExactSquares five;
  five.add(std::vector<float>{3, -4});
  EXPECT_EQ(five.norm(), 5);
  EXPECT_FALSE(five.overflow());
}

TEST(LearningRates, RiseAndFall) {
  const LearningRate rate{.peak = 1, .warmup = 4, .total = 12, .least = 0.1};
  EXPECT_EQ(rate.at(1), 0.25);
  EXPECT_EQ(rate.at(4), 1);
  EXPECT_NEAR(rate.at(8), 0.55, 1e-12);
  EXPECT_NEAR(rate.at(12), 0.1, 1e-12);
  EXPECT_EQ(rate.at(50), rate.at(12));
  EXPECT_EQ((LearningRate{.peak = 2, .warmup = 0}).at(1), 2);
  EXPECT_EQ(linearlyScaled(0.1, 64, 16), 0.4);
}

TEST(AdamW, TakesStepsOfTheLearningRateAgainstTheGradient) {
  float parameter = 1;
  float mean = 0;
  float square = 0;
  const float gradient = -3;
  // Corrected for their start at 0, mean / root of the square is -1 whatever the gradient's size.
  updateParameters({}, 1, 0.5F, 1, {&parameter, &gradient, {&mean, &square}, 1, true});
  EXPECT_FLOAT_EQ(parameter, 1 - 0.5F * 0.1F + 0.5F);
  EXPECT_FLOAT_EQ(mean, -0.3F);
  EXPECT_FLOAT_EQ(square, 0.45F);
}

TEST(TextData, VisitsEverySequenceOnceInAnEpoch) {
  TextData data(someText(), 16, 1);
  const auto count = static_cast<int>(data.sequences());
  EXPECT_EQ(count, 187);
  TextData again(someText(), 16, 1);
  const TokenBatch epoch = data.batch(0, count);
  // Another cut, and back from a later epoch: the same sequences in the same places.
  EXPECT_NE(data.batch(static_cast<std::uint64_t>(count), count).tokens, epoch.tokens);
  EXPECT_EQ(data.batch(5, 1).tokens, again.batch(5, 1).tokens);
  std::vector<std::vector<std::uint8_t>> sequences;
  for (int i = 0; i < count; ++i) {
    sequences.emplace_back(epoch.tokens.begin() + i * 16, epoch.tokens.begin() + (i + 1) * 16);
    EXPECT_EQ(epoch.tokens[static_cast<std::size_t>(i * 16 + 1)],
              epoch.targets[static_cast<std::size_t>(i * 16)]);
  }
  const std::vector<std::uint8_t> text = someText();
  std::vector<std::vector<std::uint8_t>> wanted;
  for (int i = 0; i < count; ++i)
    wanted.emplace_back(text.begin() + i * 16, text.begin() + (i + 1) * 16);
  EXPECT_THAT(sequences, ::testing::UnorderedElementsAreArray(wanted));
  EXPECT_THROW(TextData({1, 2, 3}, 16, 1), Error);
}

}  // namespace
}  // namespace rondo::train
