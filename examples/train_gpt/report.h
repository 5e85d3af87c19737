// What a training came to: a summary for the terminal, and a page with curves.
#pragma once

#include <string>

#include "examples/train_gpt/options.h"
#include "examples/train_gpt/rank_training.h"

namespace rondo::train {

/// Time, memory, traffic, and what to do if communication takes too long.
std::string summaryText(const TrainCommand& command, const TrainingOutcome& outcome);

/// The largest difference of the two runs' losses, in parts of the loss.
double largestLossDifference(const TrainingOutcome& one, const TrainingOutcome& other);

/// An HTML page that needs nothing else.
/// @param compared a run of one rank with the same global batch; null if there was none
std::string reportPage(const TrainCommand& command,
                       const TrainingOutcome& outcome,
                       const TrainingOutcome* compared);

}  // namespace rondo::train
