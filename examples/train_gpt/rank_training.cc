#include "examples/train_gpt/rank_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "examples/train_gpt/batch_prefetch.h"
#include "examples/train_gpt/random_numbers.h"
#include "examples/train_gpt/text_data.h"
#include "rondo/train/checkpoint.h"

namespace rondo::train {

namespace {

using Clock = std::chrono::steady_clock;

/// Checkpoints that are kept.
constexpr int kKeptCheckpoints = 2;
/// Skipped steps that are told of one by one; after them, every so many.
constexpr std::uint64_t kSkipsToldOf = 10;
/// Below 1: likelier bytes are drawn more often than the model says.
constexpr double kSampleTemperature = 0.7;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

class RankTraining {
 public:
  RankTraining(const Communicator& comm, const TrainCommand& command, bool quiet)
      : comm_(comm),
        command_(command),
        talks_(!quiet && comm.rank() == 0),
        blas_(command.blas == "own" ? Blas() : Blas::find()),
        model_(command.shape, blas_, command.recompute),
        data_(TextData::read(command.data), command.shape.context, command.seed),
        training_(makeTraining(comm, gptParameters(command.shape), command.training)) {}

  TrainingOutcome run() {
    begin();
    prefetch();
    for (std::uint64_t step = outcome_.firstStep; step < command_.steps; ++step) {
      makeStep(step);
      const bool due = (step + 1) % command_.checkpointEvery == 0 || step + 1 == command_.steps;
      if (due && !command_.checkpoints.empty()) save(step + 1);
    }
    finish();
    return std::move(outcome_);
  }

 private:
  std::uint64_t globalBatch() const {
    return static_cast<std::uint64_t>(comm_.ranks()) *
           static_cast<std::uint64_t>(command_.sequences * command_.microBatches);
  }

  LearningRate learningRate() const {
    const auto reference = static_cast<std::size_t>(command_.referenceBatch);
    return {.peak = reference == 0 ? command_.rate
                                   : linearlyScaled(command_.rate, globalBatch(), reference),
            .warmup = command_.warmup,
            .total = command_.steps};
  }

  /// First values, or those of a checkpoint.
  void begin() {
    outcome_.blas = blas_.name();
    outcome_.tensorElems = training_->layout().elems();
    const std::string found =
        command_.resume ? findCheckpoint(comm_, command_.checkpoints) : std::string();
    if (found.empty()) {
      training_->initialize([this](const ParameterSpec& parameter, std::span<float> values) {
        initializeGptParameter(command_.shape, parameter, command_.seed, values);
      });
    } else {
      const CheckpointPosition position = loadCheckpoint(comm_, *training_, found);
      outcome_.firstStep = position.step;
      nextSequence_ = position.data;
      data_ = TextData(TextData::read(command_.data), command_.shape.context, position.seed);
      seed_ = position.seed;
    }
    if (!talks_) return;
    std::printf("%llu parameters, %d ranks, %llu sequences of %d bytes a step, products by %s\n",
                static_cast<unsigned long long>(outcome_.tensorElems), comm_.ranks(),
                static_cast<unsigned long long>(globalBatch()), command_.shape.context,
                outcome_.blas.c_str());
    if (!found.empty()) std::printf("going on from %s\n", found.c_str());
  }

  /// Has this rank's part of each global batch made ahead: sequences that follow each other in the
  /// data's order.
  void prefetch() {
    const auto sequences = static_cast<std::uint64_t>(command_.sequences);
    const auto microBatches = static_cast<std::uint64_t>(command_.microBatches);
    const std::uint64_t first =
        nextSequence_ + static_cast<std::uint64_t>(comm_.rank()) * sequences * microBatches;
    const std::uint64_t steps = command_.steps - std::min(command_.steps, outcome_.firstStep);
    batches_.emplace(
        [this, first, sequences, microBatches](std::uint64_t number) {
          const std::uint64_t step = number / microBatches;
          return data_.batch(first + step * globalBatch() + number % microBatches * sequences,
                             command_.sequences);
        },
        steps * microBatches);
  }

  void makeStep(std::uint64_t step) {
    const Clock::time_point begin = Clock::now();
    std::vector<double> loss{0};
    for (int micro = 0; micro < command_.microBatches; ++micro) {
      const Clock::time_point beforeLoading = Clock::now();
      const TokenBatch batch = batches_->next();
      own_.loading += seconds(Clock::now() - beforeLoading);
      const bool last = micro + 1 == command_.microBatches;
      training_->synchronize(last);
      const float scale = training_->lossScale() / static_cast<float>(command_.microBatches);
      loss[0] += model_.lossAndGradient(batch, *training_, scale) / command_.microBatches;
      if (!last) training_->endMicroBatch();
    }
    nextSequence_ += globalBatch();
    const double rate = learningRate().at(training_->updates() + 1);
    const StepResult result = training_->step(rate);
    if (result.skipped) warnOfSkipped(step + 1);
    own_.seconds += seconds(Clock::now() - begin);
    comm_.allReduce(loss, rondoAvg);
    const auto tokens =
        static_cast<double>(globalBatch() * static_cast<std::uint64_t>(command_.shape.context));
    outcome_.steps.push_back(
        {loss[0], result.gradientNorm, tokens / seconds(Clock::now() - begin)});
    if (talks_ && ((step + 1) % command_.logEvery == 0 || step + 1 == command_.steps))
      printProgress(step + 1, rate);
  }

  /// Not in silence, and not for ever.
  void warnOfSkipped(std::uint64_t step) const {
    const std::uint64_t count = training_->skippedSteps();
    if (comm_.rank() != 0 || (count > kSkipsToldOf && count % kSkipsToldOf != 0)) return;
    std::fprintf(stderr,
                 "rondo-train: step %llu was skipped: a gradient is infinite or NaN; %llu so far\n",
                 static_cast<unsigned long long>(step), static_cast<unsigned long long>(count));
  }

  void printProgress(std::uint64_t step, double rate) const {
    const StepRecord& last = outcome_.steps.back();
    std::printf("step %5llu of %llu   loss %.4f   gradient %.3g   rate %.2g   %.0f tokens/s",
                static_cast<unsigned long long>(step),
                static_cast<unsigned long long>(command_.steps), last.loss, last.norm, rate,
                last.tokensPerSecond);
    if (command_.training.lossScale.growthInterval > 0)
      std::printf("   scale %g", training_->scale().value);
    if (training_->skippedSteps() > 0)
      std::printf("   skipped %llu", static_cast<unsigned long long>(training_->skippedSteps()));
    std::printf("\n");
    std::fflush(stdout);
  }

  void save(std::uint64_t step) {
    const std::string path = saveCheckpoint(comm_, *training_, command_.checkpoints,
                                            {step, seed_, nextSequence_}, kKeptCheckpoints);
    if (talks_) std::printf("checkpoint %s\n", path.c_str());
  }

  void finish() {
    const CommunicationTimes times = training_->times();
    own_.communicating = seconds(times.communicating);
    own_.exposed = seconds(times.exposed);
    own_.bytes = static_cast<double>(times.bytes);
    own_.codedBytes = static_cast<double>(times.codedBytes);
    own_.uncodedBytes = static_cast<double>(times.uncodedBytes);
    const TrainingMemory memory = training_->memory();
    own_.parameters = static_cast<double>(memory.parameters);
    own_.gradients = static_cast<double>(memory.gradients);
    own_.optimizer = static_cast<double>(memory.optimizer);
    own_.peak = static_cast<double>(training_->peakMemory().total());
    own_.activations = static_cast<double>(model_.activationBytes());
    outcome_.skipped = training_->skippedSteps();
    gatherSummaries();
    if (command_.sampleBytes > 0) outcome_.sample = sample();
  }

  void gatherSummaries() {
    static_assert(sizeof(RankSummary) % sizeof(double) == 0);
    constexpr std::size_t kFields = sizeof(RankSummary) / sizeof(double);
    const auto ranks = static_cast<std::size_t>(comm_.ranks());
    outcome_.ranks.resize(ranks);
    comm_.allGather(std::span(reinterpret_cast<const double*>(&own_), kFields),
                    std::span(reinterpret_cast<double*>(outcome_.ranks.data()), ranks * kFields));
    for (int rank = 0; rank < comm_.ranks(); ++rank) {
      outcome_.expected.push_back(
          expectedMemory(training_->layout(), command_.training, comm_.ranks(), rank));
    }
  }

  /// All ranks draw the same bytes, as in stage 3 none could compute alone.
  std::string sample() {
    std::string text = command_.prompt;
    RandomNumbers random(seed_, "sample");
    const auto context = static_cast<std::size_t>(command_.shape.context);
    for (int i = 0; i < command_.sampleBytes; ++i) {
      const std::string seen = text.substr(text.size() - std::min(text.size(), context));
      TokenBatch batch{static_cast<int>(seen.size()), {seen.begin(), seen.end()}, {}};
      text += static_cast<char>(draw(model_.nextLogits(batch, *training_), random));
    }
    return text;
  }

  static std::size_t draw(const std::vector<float>& logits, RandomNumbers& random) {
    const double most = static_cast<double>(*std::ranges::max_element(logits));
    std::vector<double> sums;
    for (const float logit : logits) {
      const double weight = std::exp((static_cast<double>(logit) - most) / kSampleTemperature);
      sums.push_back((sums.empty() ? 0 : sums.back()) + weight);
    }
    const double at = random.uniform() * sums.back();
    return static_cast<std::size_t>(std::ranges::upper_bound(sums, at) - sums.begin());
  }

  const Communicator& comm_;
  const TrainCommand& command_;
  const bool talks_;
  const Blas blas_;
  Gpt<float> model_;
  TextData data_;
  const std::unique_ptr<ParallelTraining> training_;
  std::uint64_t seed_ = command_.seed;
  std::uint64_t nextSequence_ = 0;  // of the data's order
  RankSummary own_;
  TrainingOutcome outcome_;
  std::optional<BatchPrefetch> batches_;  // last: its thread uses data_
};

}  // namespace

TrainingOutcome trainRank(const Communicator& comm, const TrainCommand& command, bool quiet) {
  return RankTraining(comm, command, quiet).run();
}

}  // namespace rondo::train
