// What rondo-train is told to do.
#pragma once

#include <cstdint>
#include <string>

#include "examples/train_gpt/gpt.h"
#include "rondo/train/parallel_training.h"

namespace rondo::train {

/// The command line of a training. The same on all ranks.
struct TrainCommand {
  GptShape shape{.layers = 4, .width = 128, .heads = 4, .context = 64, .vocabulary = 256};
  TrainingOptions training{};
  /// Of gradients; a member of `training` if `codec` is one.
  GradientCompression compression{};
  std::string codec{"none"};
  bool recompute = false;
  int ranks = 4;
  bool processes = false;
  int sequences = 4;  ///< of a rank's micro-batch
  int microBatches = 1;
  std::uint64_t steps = 200;
  double rate = 2e-3;
  int referenceBatch = 0;  ///< global batch that `rate` was found with; 0: it is not scaled
  std::uint64_t warmup = 20;
  std::uint64_t seed = 1;
  std::string data{};  ///< a file; the first of kTexts that is there if empty
  std::string blas{"auto"};
  std::uint64_t logEvery = 10;
  std::string report{};  ///< an HTML file to write
  bool compare = false;
  int sampleBytes = 200;
  std::string prompt{"The "};
  std::string checkpoints{};  ///< a folder
  std::uint64_t checkpointEvery = 100;
  bool resume = false;
};

/// What the command line asks for: a training, an export, or nothing more.
struct Command {
  TrainCommand train{};
  std::string exportFrom{};  ///< folder of checkpoints, or one of them
  std::string exportTo{};    ///< safetensors file; empty: train
  int exitCode = -1;         ///< 0 or more: help was shown, or the arguments are wrong
};

/// Reads the command line. Prints help and errors itself.
Command readCommand(int count, char** arguments);

}  // namespace rondo::train
