// The model: its gradients against finite differences in fp64, recomputation, and e^x.
#include "examples/train_gpt/gpt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "examples/train_gpt/blas.h"
#include "examples/train_gpt/exponential.h"
#include "examples/train_gpt/random_numbers.h"

namespace rondo::train {
namespace {

constexpr GptShape kShape{.layers = 2, .width = 12, .heads = 3, .context = 6, .vocabulary = 11};

/// All parameters and gradients in the memory of one rank.
class OwnParameters final : public ParameterAccess<double> {
 public:
  explicit OwnParameters(const GptShape& shape) : layout_(gptParameters(shape)) {
    for (std::size_t tensor = 0; tensor < layout_.size(); ++tensor) {
      std::vector<float> first(layout_[tensor].count);
      initializeGptParameter(shape, layout_[tensor], 1, first);
      // Away from where biases are 0 and gains 1, or wrong derivatives would be right by chance.
      RandomNumbers random(2, layout_[tensor].name);
      for (const float value : first)
        values_.push_back(static_cast<double>(value) * 5 + 0.1 * random.normal());
    }
    gradients_.resize(values_.size());
    ready_.resize(layout_.size());
  }

  const double* acquire(std::size_t unit) override {
    ++held_;
    return values_.data() + start(layout_.firstOf(unit));
  }

  void release(std::size_t) override { --held_; }

  double* gradient(std::size_t parameter) override { return gradients_.data() + start(parameter); }

  void ready(std::size_t parameter) override { ++ready_[parameter]; }

  std::size_t start(std::size_t parameter) const {
    std::size_t before = layout_.offset(parameter);
    for (std::size_t unit = 0; unit < layout_[parameter].unit; ++unit)
      before += layout_.unitElems(unit);
    return before;
  }

  const ParameterLayout layout_;
  std::vector<double> values_;
  std::vector<double> gradients_;
  std::vector<int> ready_;
  int held_ = 0;
};

TokenBatch someBatch() {
  TokenBatch batch{5, {}, {}};
  RandomNumbers random(3, "tokens");
  for (int token = 0; token < 2 * 5; ++token) {
    batch.tokens.push_back(static_cast<std::uint8_t>(random.below(11)));
    batch.targets.push_back(static_cast<std::uint8_t>(random.below(11)));
  }
  return batch;
}

TEST(Gpt, HasTheGradientsOfFiniteDifferences) {
  OwnParameters parameters(kShape);
  Gpt<double> model(kShape, Blas(), false);
  const TokenBatch batch = someBatch();
  const double loss = model.lossAndGradient(batch, parameters, 1.0);
  EXPECT_EQ(loss, model.loss(batch, parameters));
  EXPECT_EQ(parameters.held_, 0);
  const double step = 1e-4;
  for (std::size_t tensor = 0; tensor < parameters.layout_.size(); ++tensor) {
    const ParameterSpec& spec = parameters.layout_[tensor];
    EXPECT_EQ(parameters.ready_[tensor], spec.uses) << spec.name;
    // Each tensor's elements in strides that reach all columns.
    for (std::size_t i = 0; i < spec.count; i += std::max<std::size_t>(1, spec.count / 31)) {
      double& value = parameters.values_[parameters.start(tensor) + i];
      const auto lossAt = [&, before = value](double change) {
        value = before + change;
        const double at = model.loss(batch, parameters);
        value = before;
        return at;
      };
      // The five-point formula.
      const double wanted =
          (8 * (lossAt(step) - lossAt(-step)) - lossAt(2 * step) + lossAt(-2 * step)) / (12 * step);
      // Truncation is of the order of step^4, cancellation of 1e-16 / step.
      EXPECT_NEAR(parameters.gradients_[parameters.start(tensor) + i], wanted,
                  1e-8 + 1e-6 * std::abs(wanted))
          << spec.name << "[" << i << "]";
    }
  }
}

TEST(Gpt, RecomputesTheSameBitsInLessMemory) {
  OwnParameters kept(kShape);
  OwnParameters again(kShape);
  Gpt<double> keeps(kShape, Blas(), false);
  Gpt<double> recomputes(kShape, Blas(), true);
  const TokenBatch batch = someBatch();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(keeps.lossAndGradient(batch, kept, 0.5),
              recomputes.lossAndGradient(batch, again, 0.5));
  }
  EXPECT_EQ(kept.gradients_, again.gradients_);
  EXPECT_LT(recomputes.activationBytes(), keeps.activationBytes());
}

TEST(Gpt, ScalesGradientsNotTheLoss) {
  OwnParameters once(kShape);
  OwnParameters scaled(kShape);
  Gpt<double> model(kShape, Blas(), false);
  EXPECT_EQ(model.lossAndGradient(someBatch(), once, 1.0),
            model.lossAndGradient(someBatch(), scaled, 1024.0));
  for (double& gradient : once.gradients_)
    gradient *= 1024;
  EXPECT_EQ(once.gradients_, scaled.gradients_);
}

TEST(Gpt, LooksAtThePastOnly) {
  OwnParameters parameters(kShape);
  Gpt<double> model(kShape, Blas(), false);
  TokenBatch batch = someBatch();
  // The first sequence's last token changes what follows it, and nothing of the second sequence.
  const std::vector<double> before = model.nextLogits(batch, parameters);
  batch.tokens[4] = static_cast<std::uint8_t>((batch.tokens[4] + 1) % 11);
  const std::vector<double> after = model.nextLogits(batch, parameters);
  EXPECT_NE(std::vector(before.begin(), before.begin() + 11),
            std::vector(after.begin(), after.begin() + 11));
  EXPECT_EQ(std::vector(before.begin() + 11, before.end()),
            std::vector(after.begin() + 11, after.end()));
  // The mean loss over tokens 0 to 3 of a sequence does not know of token 4.
  TokenBatch shorter{4, {}, {}};
  TokenBatch longer = shorter;
  shorter.tokens.assign(batch.tokens.begin(), batch.tokens.begin() + 4);
  shorter.targets.assign(batch.targets.begin(), batch.targets.begin() + 4);
  longer = {5,
            {batch.tokens.begin(), batch.tokens.begin() + 5},
            {batch.targets.begin(), batch.targets.begin() + 5}};
  const double four = 4 * model.loss(shorter, parameters);
  const double five = 5 * model.loss(longer, parameters);
  longer.tokens[4] = static_cast<std::uint8_t>((longer.tokens[4] + 1) % 11);
  EXPECT_NE(five, 5 * model.loss(longer, parameters));
  EXPECT_GT(five, four);
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  // Every 977th float of the range, of both signs.
  constexpr std::int32_t kStride = 977;
  for (const float most : {88.0F, -87.0F}) {
    for (auto bits = std::bit_cast<std::int32_t>(0x1p-40F);
         std::bit_cast<float>(bits) <= std::abs(most); bits += kStride) {
      const float x = std::copysign(std::bit_cast<float>(bits), most);
      const double wanted = std::exp(static_cast<double>(x));
      const double unit = std::ldexp(1.0, std::ilogb(wanted) - 23);
      ASSERT_NEAR(static_cast<double>(exponential(x)), wanted, 2 * unit) << x;
      ASSERT_NEAR(static_cast<double>(hyperbolicTangent(x)), std::tanh(static_cast<double>(x)),
                  2e-7)
          << x;
    }
  }
}

TEST(Exponential, HasItsLimitsAndSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0.0F), 1.0F);
  EXPECT_EQ(exponential(-kInfinity), exponential(-87.0F));
  EXPECT_EQ(exponential(kInfinity), exponential(88.0F));
  EXPECT_EQ(hyperbolicTangent(kInfinity), 1.0F);
  EXPECT_EQ(hyperbolicTangent(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(hyperbolicTangent(std::numeric_limits<float>::quiet_NaN())));
}

TEST(RandomNumbers, AreNormalAndTheirOwnForEachPurpose) {
  RandomNumbers random(1, "a");
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  // Five deviations of the mean, and of the variance.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NE(RandomNumbers(1, "a").bits(), RandomNumbers(1, "b").bits());
  EXPECT_NE(RandomNumbers(1, "a").bits(), RandomNumbers(2, "a").bits());
  EXPECT_EQ(RandomNumbers(1, "a").bits(), RandomNumbers(1, "a").bits());
}

}  // namespace
}  // namespace rondo::train
