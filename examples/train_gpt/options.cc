#include "examples/train_gpt/options.h"

#include <array>
#include <filesystem>
#include <map>

#include <CLI/CLI.hpp>

namespace rondo::train {

namespace {

/// Found on Debian, whose licenses are in the package base-files.
constexpr std::array kTexts{"/usr/share/common-licenses/GPL-3", "/usr/share/common-licenses/GPL-2",
                            "/usr/share/common-licenses/Apache-2.0"};

const std::map<std::string, int> kStages{{"dp", 0}, {"zero1", 1}, {"zero2", 2}, {"zero3", 3}};
const std::map<std::string, ParameterPrecision> kPrecisions{{"fp32", ParameterPrecision::kFp32},
                                                            {"bf16", ParameterPrecision::kBf16}};
const std::map<std::string, OptimizerKind> kOptimizers{{"adamw", OptimizerKind::kAdamW},
                                                       {"sgd", OptimizerKind::kSgd}};

const std::map<std::string, rondoCodec_t> kCodecs{{"fp16", rondoCodecFloat16},
                                                  {"bf16", rondoCodecBfloat16},
                                                  {"fp8_e4m3", rondoCodecFloat8E4m3},
                                                  {"fp8_e5m2", rondoCodecFloat8E5m2},
                                                  {"int8", rondoCodecInt8}};

void addModel(CLI::App& app, TrainCommand& train) {
  auto* group = app.add_option_group("Model");
  group->add_option("--layers", train.shape.layers, "blocks")->check(CLI::Range(0, 1000));
  group->add_option("--width", train.shape.width, "values of a token")->check(CLI::Range(1, 65536));
  group->add_option("--heads", train.shape.heads, "of attention; divides the width")
      ->check(CLI::Range(1, 1024));
  group->add_option("--context", train.shape.context, "tokens of a sequence")
      ->check(CLI::Range(1, 65536));
  group->add_flag("--recompute", train.recompute,
                  "keep only the blocks' inputs and compute the rest again in backward");
  group->add_option("--blas", train.blas, "auto: OpenBLAS or BLIS if installed; own: own loops")
      ->check(CLI::IsMember({"auto", "own"}));
}

void addParallel(CLI::App& app, TrainCommand& train) {
  auto* group = app.add_option_group("Ranks");
  group
      ->add_option("--parallel", train.training.stage,
                   "dp, zero1, zero2 or zero3: what is shared out")
      ->transform(CLI::CheckedTransformer(kStages));
  group
      ->add_option("--parameters", train.training.precision,
                   "fp32, or bf16 for computing and gathers, with fp32 beside it")
      ->transform(CLI::CheckedTransformer(kPrecisions));
  group->add_option("-n,--ranks", train.ranks, "ranks; what a launcher says counts more")
      ->check(CLI::Range(1, 1024));
  group->add_flag("--processes", train.processes, "ranks are processes, not threads");
  group->add_option("--bucket-bytes", train.training.buckets.capBytes,
                    "cap of gradient buckets (dp)");
  group->add_option("--first-bucket-bytes", train.training.buckets.firstCapBytes,
                    "cap of the first one");
  group->add_flag("!--no-overlap", train.training.buckets.overlap,
                  "communicate only when backward has ended");
  group
      ->add_option("--codec", train.codec,
                   "what gradients are sent as: none, fp16, bf16, fp8_e4m3, fp8_e5m2 or int8")
      ->check(CLI::IsMember(kCodecs) | CLI::IsMember({"none"}));
  group->add_option("--codec-block", train.compression.blockElems,
                    "elements that share a scale (int8)");
  group->add_flag("!--no-error-feedback", train.compression.errorFeedback,
                  "lose what a codec rounds away, instead of adding it to the next step's");
}

void addTraining(CLI::App& app, TrainCommand& train) {
  auto* group = app.add_option_group("Training");
  group->add_option("--data", train.data, "a file, whose bytes are the tokens");
  group->add_option("--steps", train.steps, "to be made in all");
  group->add_option("--batch", train.sequences, "sequences of a rank's micro-batch")
      ->check(CLI::Range(1, 1 << 20));
  group->add_option("--micro-batches", train.microBatches, "of a step, added up")
      ->check(CLI::Range(1, 1 << 20));
  group->add_option("--optimizer", train.training.optimizer.kind, "adamw or sgd")
      ->transform(CLI::CheckedTransformer(kOptimizers));
  group->add_option("--lr", train.rate, "peak of the learning rate");
  group->add_option("--lr-for-batch", train.referenceBatch,
                    "global batch that --lr suits: it is scaled linearly from there");
  group->add_option("--warmup", train.warmup, "steps until the peak");
  group->add_option("--weight-decay", train.training.optimizer.weightDecay, "of weights");
  group->add_option("--clip", train.training.maxNorm, "longest gradient; 0: any");
  group->add_option("--loss-scale", train.training.lossScale.value, "a power of two")
      ->check(CLI::PositiveNumber);
  group->add_option("--loss-scale-growth", train.training.lossScale.growthInterval,
                    "steps until the scale is doubled; 0: fixed");
  group->add_option("--seed", train.seed, "of first values, order of data, and sample");
}

void addOutput(CLI::App& app, TrainCommand& train) {
  auto* group = app.add_option_group("Output");
  group->add_option("--log-every", train.logEvery, "steps between lines")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  group->add_option("--report", train.report, "HTML file with curves");
  group->add_flag("--compare", train.compare,
                  "train one rank with the same global batch, too, and compare losses");
  group->add_option("--sample", train.sampleBytes, "bytes to write in the end; 0: none")
      ->check(CLI::Range(0, 100000));
  group->add_option("--prompt", train.prompt, "what they begin with");
  group->add_option("--checkpoints", train.checkpoints, "folder for checkpoints");
  group->add_option("--checkpoint-every", train.checkpointEvery, "steps between them")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  group->add_flag("--resume", train.resume, "go on from the last checkpoint, if there is one");
}

std::string firstText() {
  for (const char* path : kTexts) {
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

/// What parsers of single options cannot see; empty if all is well.
std::string problemOf(const TrainCommand& train) {
  if (train.shape.width % train.shape.heads != 0) return "--heads must divide --width";
  if (train.data.empty()) return "--data: this system has no text of its own; name a file";
  if (train.prompt.empty()) return "--prompt must not be empty";
  if (train.resume && train.checkpoints.empty()) return "--resume needs --checkpoints";
  return {};
}

}  // namespace

Command readCommand(int count, char** arguments) {
  Command command;
  TrainCommand& train = command.train;
  train.training.stage = 2;
  train.training.maxNorm = 1;
  CLI::App app{
      "Trains a small GPT on the bytes of a text, on several ranks of this machine or of a "
      "launcher's."};
  app.option_defaults()->always_capture_default();
  addModel(app, train);
  addParallel(app, train);
  addTraining(app, train);
  addOutput(app, train);
  CLI::App* exporting = app.add_subcommand("export", "writes a checkpoint as a safetensors file");
  exporting->add_option("checkpoint", command.exportFrom, "folder")->required();
  exporting->add_option("file", command.exportTo, "safetensors file")->required();
  try {
    app.parse(count, arguments);
    if (train.data.empty()) train.data = firstText();
    if (train.codec != "none") {
      train.compression.codec = kCodecs.at(train.codec);
      train.training.buckets.compression = train.compression;
    }
    const std::string problem = exporting->parsed() ? std::string() : problemOf(train);
    if (!problem.empty()) throw CLI::ValidationError(problem);
  } catch (const CLI::ParseError& error) {
    command.exitCode = app.exit(error) == 0 ? 0 : 2;
  }
  return command;
}

}  // namespace rondo::train
