// How parameters follow from gradients: AdamW, SGD with momentum, learning rates and loss scales.
//
// Updates are element by element, in fp32, each operation rounded once: the same bits however
// parameters are spread over ranks.
#ifndef RONDO_TRAIN_OPTIMIZER_H_
#define RONDO_TRAIN_OPTIMIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace rondo::train {

enum class OptimizerKind {
  kAdamW,  ///< Loshchilov and Hutter, "Decoupled weight decay regularization", 2019
  kSgd     ///< with momentum as in Sutskever et al., 2013, without its Nesterov form
};

/// The same on all ranks.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::kAdamW;
  float beta1 = 0.9F;     ///< AdamW: decay of the mean of gradients; SGD: the momentum
  float beta2 = 0.95F;    ///< AdamW: decay of the mean of their squares
  float epsilon = 1e-8F;  ///< AdamW: added to the root of the latter
  float weightDecay = 0.1F;

  /// Values that are kept for each parameter beside itself.
  std::size_t states() const { return kind == OptimizerKind::kAdamW ? 2 : 1; }

  /// One line, the same if and only if the settings are.
  std::string describe() const;
};

/// Elements to be updated, all of one tensor.
struct UpdateRange {
  float* parameters;
  const float* gradients;
  float* states[2];  ///< the second is not looked at by SGD
  std::size_t count;
  bool decay;  ///< whether weight decay applies
};

/// Makes one step.
/// @param update         number of the step, from 1
/// @param gradientFactor multiplied with each gradient first
/// @threads any
void updateParameters(const OptimizerSettings& settings,
                      std::uint64_t update,
                      float learningRate,
                      float gradientFactor,
                      const UpdateRange& range);

/// A learning rate that rises linearly and then falls along a cosine.
struct LearningRate {
  double peak = 1e-3;
  std::uint64_t warmup = 0;  ///< updates until the peak
  std::uint64_t total = 0;   ///< updates until the end, where it is the least; 0: it does not fall
  double least = 0.1;        ///< at the end, in parts of the peak

  /// @param update number of the step, from 1; skipped steps do not count
  double at(std::uint64_t update) const;
};

/// The linear scaling rule (Goyal et al., "Accurate, large minibatch SGD", 2017): a peak that suits
/// `batch` sequences, from one that was found with `referenceBatch`.
double linearlyScaled(double peak, std::size_t batch, std::size_t referenceBatch);

/// What losses are multiplied with, so that small gradients do not vanish: halved when gradients
/// overflow, doubled after many steps without. Powers of two: scaling does not round.
struct LossScale {
  double value = 1;
  /// Steps without overflow until it is doubled; 0: never changed.
  std::uint64_t growthInterval = 0;
  std::uint64_t goodSteps = 0;  ///< since the last change

  /// Follows from a step; the same on all ranks, as overflow is.
  void follow(bool overflow);
};

}  // namespace rondo::train

#endif  // RONDO_TRAIN_OPTIMIZER_H_
