// Data-parallel training of one model by all ranks, with nothing, optimizer state, gradients, or
// all of it spread over them:
//
//   stage   parameters   gradients   optimizer state     averaged by
//   -----   ----------   ---------   ---------------     --------------------------------------
//   0       all          all         all                 all-reduce, in buckets (DataParallel)
//   1       all          all         a share             reduce-scatter, then all-gather
//   2       all          a share     a share             the same
//   3       a share      a share     a share             the same; parameters gathered for each use
//
// After Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models"
// (2020). In reproducible mode all stages give the same parameters, bit by bit, with the same
// number of ranks.
//
//     auto training = rondo::train::makeTraining(comm, gptParameters(shape), {.stage = 2});
//     training->initialize(fill);
//     for (each step) {
//       const double loss = model.lossAndGradient(batch, *training, training->lossScale());
//       const StepResult result = training->step(rate.at(training->updates() + 1));
//     }
#ifndef RONDO_TRAIN_PARALLEL_TRAINING_H_
#define RONDO_TRAIN_PARALLEL_TRAINING_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"
#include "rondo/train/gradient_buckets.h"
#include "rondo/train/optimizer.h"
#include "rondo/train/parameters.h"

namespace rondo::train {

/// What models compute with. Gradients, the optimizer and what it updates are always fp32.
enum class ParameterPrecision {
  kFp32,
  /// Rounded to bfloat16 after each update: half the memory, and half the traffic of gathers. What
  /// is updated, fp32, is held beside it like optimizer state, of which it counts as part.
  kBf16
};

/// The same on all ranks.
struct TrainingOptions {
  int stage = 0;  ///< 0 to 3; see above
  ParameterPrecision precision = ParameterPrecision::kFp32;
  OptimizerSettings optimizer{};
  /// Gradients longer than this, over all parameters, are shortened to it. 0: never.
  double maxNorm = 0;
  LossScale lossScale{};
  /// Stage 0: all of it; stages 1 to 3: `overlap`, `compression`, and when to report ranks that
  /// stand still. What is gathered is not compressed.
  BucketOptions buckets{};
};

/// What a step came to; the same on all ranks.
struct StepResult {
  bool skipped = false;     ///< a gradient was infinite or NaN on some rank: nothing was changed
  double gradientNorm = 0;  ///< of the mean gradient, before it was shortened
};

/// Bytes of tensors on this rank.
struct TrainingMemory {
  std::size_t parameters = 0;
  std::size_t gradients = 0;
  std::size_t optimizer = 0;

  std::size_t total() const { return parameters + gradients + optimizer; }

  friend bool operator==(const TrainingMemory&, const TrainingMemory&) = default;
};

/// Where the time in communication went, on this rank, since the beginning.
struct CommunicationTimes {
  std::chrono::nanoseconds communicating{0};  ///< operations under way, with waiting for others
  std::chrono::nanoseconds exposed{0};        ///< of that, while the program waited
  std::size_t bytes = 0;                      ///< of tensors given to operations
  std::size_t codedBytes = 0;                 ///< that this rank sent through a codec
  std::size_t uncodedBytes = 0;               ///< that these would have been without it
};

/// The part of `elems` elements that a rank holds where they are shared: equal parts, rounded up,
/// so that the last ranks may have less or nothing.
struct Share {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

/// Pure.
Share shareOf(std::size_t elems, int ranks, int rank);

/// What checkpoints keep of a unit, or of a part of it.
struct UnitState {
  std::span<const float> parameters;
  std::span<const float> states[2];  ///< the second is empty for SGD
};

/// One rank's part in the training. Models compute through ParameterAccess.
/// @threads one at a time
class ParallelTraining : public ParameterAccess<float> {
 public:
  ~ParallelTraining() override = default;

  virtual const ParameterLayout& layout() const = 0;
  virtual const OptimizerSettings& optimizer() const = 0;

  /// Gives all tensors their first values. Collective; rank 0's count.
  /// @param fill called on rank 0 for each tensor
  virtual void initialize(
      const std::function<void(const ParameterSpec&, std::span<float>)>& fill) = 0;

  /// Whether the next passes are averaged. Without it they only add up: for all micro-batches of a
  /// step but the last. Called before a pass. Stages 2 and 3 hold whole gradients meanwhile.
  virtual void synchronize(bool on) = 0;

  /// Ends a pass that is not averaged (synchronize(false)).
  virtual void endMicroBatch() = 0;

  /// Ends the pass: averages gradients, shortens them, updates parameters, clears gradients.
  /// Collective.
  /// @errors InvalidUsage on all ranks: tensors that a pass never marked ready, with ranks. Those
  /// of
  ///   operations.
  virtual StepResult step(double learningRate) = 0;

  /// What losses are to be multiplied with.
  virtual float lossScale() const = 0;

  /// Steps that were not skipped.
  virtual std::uint64_t updates() const = 0;

  /// Steps that were.
  virtual std::uint64_t skippedSteps() const = 0;

  /// Bytes held between steps, and the most that were held at any time.
  virtual TrainingMemory memory() const = 0;
  virtual TrainingMemory peakMemory() const = 0;

  virtual CommunicationTimes times() const = 0;

  /// This rank's share of a unit, which no other rank has in its checkpoints.
  virtual Share share(std::size_t unit) const = 0;
  virtual UnitState state(std::size_t unit) const = 0;

  /// Takes over what lies in [begin, begin + state.parameters.size()) of a unit, as far as this
  /// rank holds it. Before the first pass or between steps. After the last call all ranks call
  /// restored().
  virtual void restore(std::size_t unit, std::size_t begin, const UnitState& state) = 0;

  /// Ends restoring. Collective.
  virtual void restored(std::uint64_t updates, std::uint64_t skipped, const LossScale& scale) = 0;

  virtual const LossScale& scale() const = 0;

  /// What this rank keeps from step to step that belongs to no unit: what compression has rounded
  /// away. Between steps.
  virtual std::vector<std::byte> rankState() const = 0;

  /// Goes on from what rankState() gave on this rank. Collective.
  /// @return false, on all ranks: some rank's is empty, or of other options or ranks; it is
  ///   forgotten.
  /// @errors InvalidArgument on all ranks: it has been changed.
  virtual bool restoreRankState(std::span<const std::byte> state) = 0;
};

/// What a rank holds between steps according to the table above, in bytes. Pure.
TrainingMemory expectedMemory(const ParameterLayout& layout,
                              const TrainingOptions& options,
                              int ranks,
                              int rank);

/// Makes this rank's part. Collective over `comm`, whose ranks pass the same.
/// @param comm on host memory; need not live longer
/// @errors Mismatch on all ranks: parameters or options differ. InvalidArgument: no such stage.
std::unique_ptr<ParallelTraining> makeTraining(const Communicator& comm,
                                               std::vector<ParameterSpec> parameters,
                                               const TrainingOptions& options);

}  // namespace rondo::train

#endif  // RONDO_TRAIN_PARALLEL_TRAINING_H_
