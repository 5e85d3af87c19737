#include <cstdint>
#include <utility>

#include "rondo/train/parallel_training.h"
#include "src/train/data_parallel.h"
#include "src/train/zero_training.h"

namespace rondo::train {

TrainingMemory expectedMemory(const ParameterLayout& layout,
                              const TrainingOptions& options,
                              int ranks,
                              int rank) {
  std::size_t shared = 0;
  for (std::size_t unit = 0; unit < layout.units(); ++unit)
    shared += shareOf(layout.unitElems(unit), ranks, rank).size();
  const auto held = [&](int sharedFrom) {
    return options.stage >= sharedFrom ? shared : layout.elems();
  };
  const bool compressed = options.buckets.compression.has_value();
  std::size_t gradients = options.stage == 0 ? layout.elems() : 0;
  for (std::size_t unit = 0; unit < layout.units() && options.stage > 0; ++unit) {
    const ReducedElems reduced = reducedElems(layout.unitElems(unit), ranks, rank, compressed);
    gradients += options.stage >= 2 ? reduced.own : reduced.all;
  }
  const bool rounds = options.precision == ParameterPrecision::kBf16;
  const std::size_t masters = rounds ? 1 : 0;
  return {held(3) * (rounds ? sizeof(std::uint16_t) : sizeof(float)), gradients * sizeof(float),
          held(1) * sizeof(float) * (options.optimizer.states() + masters)};
}

std::unique_ptr<ParallelTraining> makeTraining(const Communicator& comm,
                                               std::vector<ParameterSpec> parameters,
                                               const TrainingOptions& options) {
  if (options.stage < 0 || options.stage > 3) {
    throw Error(rondoInvalidArgument,
                "training: there is no stage " + std::to_string(options.stage) + "; 0 to 3");
  }
  ParameterLayout layout(std::move(parameters));
  if (options.stage == 0) return std::make_unique<DataParallel>(comm, std::move(layout), options);
  return std::make_unique<ZeroTraining>(comm, std::move(layout), options);
}

}  // namespace rondo::train
