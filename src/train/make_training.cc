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
  const auto bytes = [&](int sharedFrom) {
    return sizeof(float) * (options.stage >= sharedFrom ? shared : layout.elems());
  };
  return {bytes(3), bytes(2), options.optimizer.states() * bytes(1)};
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
