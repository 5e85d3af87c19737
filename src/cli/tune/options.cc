#include "src/cli/tune/options.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "src/cli/names.h"
#include "src/config.h"
#include "src/plan_rule.h"
#include "src/size_text.h"

namespace rondo::tune {

namespace {

constexpr int kMostRounds = 1000;

/// What the environment says counts more than what each measurement asks for.
Status refuseOverrides() {
  const Environment environment = processEnvironment();
  for (const std::string_view variable :
       {"RONDO_ALGORITHM", "RONDO_TUNING_FILE", "RONDO_REPRODUCIBLE"}) {
    if (!environment.contains(variable)) continue;
    return Status::invalidArgument(
        "{} is set, so that not everything can be measured; unset it and try again", variable);
  }
  return {};
}

Status readChunks(const TuneFlags& flags, TuneOptions& options) {
  for (const std::string& text : flags.chunks) {
    const Result<std::size_t> bytes = parseSize(text);
    RONDO_RETURN_IF_ERROR(bytes.status().withContext("--chunks"));
    if (*bytes < kLeastChunkBytes || *bytes % kLeastChunkBytes != 0) {
      return Status::invalidArgument("--chunks: {} is no multiple of {} bytes", text,
                                     kLeastChunkBytes);
    }
    options.chunkBytes.push_back(*bytes);
  }
  std::ranges::sort(options.chunkBytes);
  return {};
}

/// Those that are measured unless others are named: a barrier has no size to choose by.
std::vector<std::string> usualOperations() {
  std::vector<std::string> names;
  for (const Collective collective : cli::allCollectives()) {
    if (collective != Collective::kBarrier) names.emplace_back(collectiveName(collective));
  }
  return names;
}

}  // namespace

void addTuneFlags(CLI::App& app, TuneFlags& flags) {
  app.add_option("OPERATION", flags.operations,
                 "Any of " + cli::namesOfCollectives() + " [all but barrier]");
  app.add_option("-t,--threads", flags.threads, "Ranks, as threads of this process");
  app.add_option("--ranks", flags.processes, "Ranks, as processes that this command starts");
  app.add_option("-b,--minbytes", flags.minBytes, "Least size [4K]");
  app.add_option("-e,--maxbytes", flags.maxBytes, "Largest size [8M]");
  app.add_option("-f,--stepfactor", flags.stepFactor, "Each size so many times the one before [2]");
  app.add_option("--chunks", flags.chunks, "Most bytes in a slot, each tried [8K,16K,32K,64K]")
      ->delimiter(',');
  app.add_option("--rounds", flags.rounds, "Everything so often; medians count [3]");
  app.add_option("-o,--output", flags.file, "Where the table goes [rondo-tune.txt]");
}

Result<TuneOptions> understand(const TuneFlags& flags, int launched) {
  RONDO_RETURN_IF_ERROR(refuseOverrides());
  if (flags.rounds < 1 || flags.rounds > kMostRounds) {
    return Status::invalidArgument("--rounds: {} is not from 1 to {}", flags.rounds, kMostRounds);
  }
  perf::PerfFlags measured;
  measured.operations = flags.operations.empty() ? usualOperations() : flags.operations;
  measured.threads = flags.threads;
  measured.processes = flags.processes;
  measured.minBytes = flags.minBytes;
  measured.maxBytes = flags.maxBytes;
  measured.stepFactor = flags.stepFactor;
  Result<perf::PerfOptions> understood = perf::understand(measured, launched);
  RONDO_RETURN_IF_ERROR(understood.status());
  TuneOptions options;
  for (const perf::Operation& operation : understood->operations) {
    if (operation.form == perf::Form::kCollective) continue;
    return Status::invalidArgument("{} has one algorithm only; there is nothing to tune",
                                   perf::operationName(operation));
  }
  options.measured = *std::move(understood);
  options.measured.unlimitedSlots = true;  // communicators of all algorithms at once
  options.rounds = flags.rounds;
  options.file = flags.file;
  RONDO_RETURN_IF_ERROR(readChunks(flags, options));
  return options;
}

}  // namespace rondo::tune
