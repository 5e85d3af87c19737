// One rank's training from the first step to the sample, and what it came to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "examples/train_gpt/options.h"
#include "rondo/rondo.hpp"

namespace rondo::train {

/// What happened in one step, over all ranks.
struct StepRecord {
  double loss = 0;  ///< mean over the global batch
  double norm = 0;
  double tokensPerSecond = 0;  ///< of all ranks
};

/// Where one rank's time went and what it held. Doubles only: it is gathered as such.
struct RankSummary {
  double seconds = 0;  ///< of all steps
  double loading = 0;  ///< of that, waiting for batches
  double communicating = 0;
  double exposed = 0;       ///< of that, waiting
  double bytes = 0;         ///< of tensors given to operations
  double codedBytes = 0;    ///< sent through a codec
  double uncodedBytes = 0;  ///< what these would have been without it
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double peak = 0;  ///< most of the three at any time
  double activations = 0;

  double hidden() const { return communicating > exposed ? communicating - exposed : 0; }

  double computing() const { return seconds - loading - exposed; }
};

/// The outcome, the same on all ranks.
struct TrainingOutcome {
  std::uint64_t firstStep = 0;  ///< steps before it were made in an earlier run
  std::vector<StepRecord> steps{};
  std::vector<RankSummary> ranks{};
  std::vector<TrainingMemory> expected{};  ///< by rank
  std::uint64_t skipped = 0;
  std::uint64_t tensorElems = 0;
  std::string blas{};
  std::string sample{};
};

/// Trains. Collective over `comm`, in reproducible mode.
/// @param quiet print no progress; else rank 0 does
TrainingOutcome trainRank(const Communicator& comm, const TrainCommand& command, bool quiet);

}  // namespace rondo::train
