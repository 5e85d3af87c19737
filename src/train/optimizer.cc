#include "rondo/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <tuple>

namespace rondo::train {

namespace {

/// Loss scales stay within the powers of two of fp32.
constexpr double kLeastScale = 1;
constexpr double kMostScale = 0x1p100;

void adamW(const OptimizerSettings& settings,
           std::uint64_t update,
           float rate,
           float factor,
           const UpdateRange& range) {
  const auto step = static_cast<double>(update);
  const auto correction1 =
      static_cast<float>(1 - std::pow(static_cast<double>(settings.beta1), step));
  const auto correction2 =
      static_cast<float>(1 - std::pow(static_cast<double>(settings.beta2), step));
  const float keep = 1 - rate * (range.decay ? settings.weightDecay : 0.0F);
  const auto [beta1, beta2, epsilon] = std::tuple(settings.beta1, settings.beta2, settings.epsilon);
  // Copies and promises without which compilers would take values one by one.
  float* __restrict parameters = range.parameters;
  const float* __restrict gradients = range.gradients;
  float* __restrict mean = range.states[0];
  float* __restrict square = range.states[1];
  for (std::size_t i = 0; i < range.count; ++i) {
    const float gradient = gradients[i] * factor;
    mean[i] = beta1 * mean[i] + (1 - beta1) * gradient;
    square[i] = beta2 * square[i] + (1 - beta2) * (gradient * gradient);
    const float deviation = std::sqrt(square[i] / correction2) + epsilon;
    parameters[i] = keep * parameters[i] - rate * ((mean[i] / correction1) / deviation);
  }
}

void sgd(const OptimizerSettings& settings, float rate, float factor, const UpdateRange& range) {
  const float decay = range.decay ? settings.weightDecay : 0.0F;
  const float beta = settings.beta1;
  float* __restrict parameters = range.parameters;
  const float* __restrict gradients = range.gradients;
  float* __restrict momentum = range.states[0];
  for (std::size_t i = 0; i < range.count; ++i) {
    const float gradient = gradients[i] * factor + decay * parameters[i];
    momentum[i] = beta * momentum[i] + gradient;
    parameters[i] -= rate * momentum[i];
  }
}

}  // namespace

std::string OptimizerSettings::describe() const {
  char line[160];
  const bool adam = kind == OptimizerKind::kAdamW;
  std::snprintf(line, sizeof line, "%s beta1 %a beta2 %a epsilon %a weight decay %a",
                adam ? "adamw" : "sgd", static_cast<double>(beta1), static_cast<double>(beta2),
                static_cast<double>(epsilon), static_cast<double>(weightDecay));
  return line;
}

void updateParameters(const OptimizerSettings& settings,
                      std::uint64_t update,
                      float learningRate,
                      float gradientFactor,
                      const UpdateRange& range) {
  if (settings.kind == OptimizerKind::kAdamW) {
    adamW(settings, update, learningRate, gradientFactor, range);
  } else {
    sgd(settings, learningRate, gradientFactor, range);
  }
}

double LearningRate::at(std::uint64_t update) const {
  if (update < warmup) return peak * static_cast<double>(update) / static_cast<double>(warmup);
  if (total <= warmup) return peak;
  const double way =
      std::min(1.0, static_cast<double>(update - warmup) / static_cast<double>(total - warmup));
  return peak * (least + (1 - least) * (1 + std::cos(std::numbers::pi * way)) / 2);
}

double linearlyScaled(double peak, std::size_t batch, std::size_t referenceBatch) {
  return peak * static_cast<double>(batch) / static_cast<double>(referenceBatch);
}

void LossScale::follow(bool overflow) {
  if (growthInterval == 0) return;
  goodSteps = overflow ? 0 : goodSteps + 1;
  if (overflow) {
    value = std::max(value / 2, kLeastScale);
  } else if (goodSteps == growthInterval) {
    value = std::min(value * 2, kMostScale);
    goodSteps = 0;
  }
}

}  // namespace rondo::train
