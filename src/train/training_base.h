// What all stages have in common: steps, norms, the optimizer, what checkpoints see. Where tensors
// lie and how they travel is in data_parallel.h and zero_training.h.
#pragma once

#include <functional>
#include <vector>

#include "rondo/train/parallel_training.h"
#include "src/train/mark_ledger.h"
#include "src/train/tensor_memory.h"

namespace rondo::train {

class TrainingBase : public ParallelTraining {
 public:
  const ParameterLayout& layout() const override { return layout_; }

  const OptimizerSettings& optimizer() const override { return options_.optimizer; }

  void initialize(const std::function<void(const ParameterSpec&, std::span<float>)>& fill) override;
  StepResult step(double learningRate) override;

  float lossScale() const override { return static_cast<float>(scale_.value); }

  std::uint64_t updates() const override { return updates_; }

  std::uint64_t skippedSteps() const override { return skipped_; }

  TrainingMemory memory() const override { return meter_.now(); }

  TrainingMemory peakMemory() const override { return meter_.peak(); }

  Share share(std::size_t unit) const override {
    return shareOf(layout_.unitElems(unit), ranks_, rank_);
  }

  UnitState state(std::size_t unit) const override;
  void restore(std::size_t unit, std::size_t begin, const UnitState& state) override;
  void restored(std::uint64_t updates, std::uint64_t skipped, const LossScale& scale) override;

  const LossScale& scale() const override { return scale_; }

 protected:
  /// What a rank holds of a unit between steps.
  struct Held {
    float* parameters;
    Share parameterRange;
    float* states[2];
    Share stateRange;  ///< lies in parameterRange; what this rank updates
  };

  /// Splits `comm` and compares what ranks were given. Collective.
  TrainingBase(const Communicator& comm, ParameterLayout layout, const TrainingOptions& options);

  virtual Held held(std::size_t unit) const = 0;
  /// Averages what the pass has left; on return gradientOf() is valid for all of stateRange.
  virtual void finishGradients() = 0;
  /// The mean gradient of a tensor, from an element of its unit on that this rank updates.
  virtual const float* gradientOf(std::size_t parameter, std::size_t unitElem) const = 0;
  /// Called before parameters are written.
  virtual void beforeUpdate() = 0;
  /// Called when this rank has updated its part, or read it from elsewhere. Collective.
  virtual void afterUpdate() = 0;
  /// Ends a step, skipped or not: the next pass begins with gradients of zero.
  virtual void clearGradients() = 0;

  const ParameterLayout layout_;
  const TrainingOptions options_;
  const Communicator comm_;  ///< this training's own
  const int rank_;
  const int ranks_;
  MemoryMeter meter_;

  bool roundsParameters() const { return options_.precision == ParameterPrecision::kBf16; }

  /// As what the memory of parameters that are updated counts.
  TensorKind mastersKind() const {
    return roundsParameters() ? &TrainingMemory::optimizer : &TrainingMemory::parameters;
  }

 private:
  /// Part of a tensor: elements of its unit.
  struct Piece {
    std::size_t parameter;
    std::size_t begin;
    std::size_t end;
  };

  /// Calls body(Piece) for the tensors that have elements in `range` of `unit`.
  template <class Body>
  void forEachPiece(std::size_t unit, Share range, const Body& body) const;
  void update(double learningRate, float gradientFactor);

  LossScale scale_;
  std::uint64_t updates_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace rondo::train
