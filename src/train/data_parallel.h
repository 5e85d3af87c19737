// Stage 0: every rank holds everything, and gradients are averaged in buckets.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/train/training_base.h"

namespace rondo::train {

class DataParallel final : public TrainingBase {
 public:
  DataParallel(const Communicator& comm, ParameterLayout layout, const TrainingOptions& options);

  const float* acquire(std::size_t unit) override;
  void release(std::size_t unit) override;

  float* gradient(std::size_t parameter) override { return buckets_.view<float>(parameter).data(); }

  void ready(std::size_t parameter) override { buckets_.markReady(parameter); }

  void synchronize(bool on) override;

  void endMicroBatch() override { buckets_.finish(); }

  CommunicationTimes times() const override;

  std::vector<std::byte> rankState() const override { return buckets_.saveState(); }

  bool restoreRankState(std::span<const std::byte> state) override {
    return buckets_.restoreState(state);
  }

 protected:
  Held held(std::size_t unit) const override;

  void finishGradients() override { buckets_.finish(); }

  const float* gradientOf(std::size_t parameter, std::size_t unitElem) const override {
    return buckets_.view<float>(parameter).data() + (unitElem - layout_.offset(parameter));
  }

  void beforeUpdate() override {}

  void afterUpdate() override;

  void clearGradients() override { buckets_.zero(); }

 private:
  struct Unit {
    MeteredBuffer parameters;  // what is updated
    MeteredHalves rounded;     // with bf16: what models compute with
    MeteredBuffer widened;     // the same as fp32, while in use
    int holders = 0;
    MeteredBuffer states[2];
  };

  std::vector<Unit> units_;
  GradientBuckets buckets_;
  std::optional<GradientBuckets::NoSync> noSync_;
};

}  // namespace rondo::train
