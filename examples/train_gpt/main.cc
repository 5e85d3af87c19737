// rondo-train: trains a small GPT on the bytes of a text, data-parallel or sharded, on ranks that
// are threads, processes, or started by a launcher; tells where time and memory went.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include "examples/train_gpt/options.h"
#include "examples/train_gpt/rank_processes.h"
#include "examples/train_gpt/rank_training.h"
#include "examples/train_gpt/report.h"
#include "rondo/train/checkpoint.h"

namespace rondo::train {
namespace {

/// The same steps by one rank, with the global batch in micro-batches of the same size.
TrainingOutcome trainAlone(const TrainCommand& command, int ranks) {
  TrainCommand alone = command;
  alone.training.stage = 0;
  alone.microBatches *= ranks;
  alone.sampleBytes = 0;
  alone.checkpoints.clear();
  alone.resume = false;
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.reproducible = 1;
  const std::vector<Communicator> comms = Communicator::createAll(1, config);
  return trainRank(comms[0], alone, true);
}

/// What rank 0 says in the end.
int conclude(const TrainCommand& command, const TrainingOutcome& outcome) {
  std::cout << summaryText(command, outcome);
  std::optional<TrainingOutcome> alone;
  if (command.compare && outcome.firstStep == 0) {
    std::cout << "\ntraining one rank with the same global batch ...\n" << std::flush;
    alone = trainAlone(command, static_cast<int>(outcome.ranks.size()));
    std::cout << "largest difference of the losses: " << largestLossDifference(outcome, *alone)
              << " of the loss\n";
  }
  if (!outcome.sample.empty()) std::cout << "\nsample: " << outcome.sample << "\n";
  if (!command.report.empty()) {
    std::ofstream file(command.report);
    file << reportPage(command, outcome, alone.has_value() ? &*alone : nullptr);
    file.close();
    if (!file) {
      std::cerr << "rondo-train: cannot write " << command.report << "\n";
      return 1;
    }
    std::cout << "\nreport: " << command.report << "\n";
  }
  std::cout << std::flush;
  return 0;
}

int trainAll(const TrainCommand& command) {
  const RankBody body = [&command](const Communicator& comm) {
    const TrainingOutcome outcome = trainRank(comm, command, false);
    return comm.rank() == 0 ? conclude(command, outcome) : 0;
  };
  if (startedByLauncher()) return runLaunched(body);
  return command.processes ? runProcesses(command.ranks, body) : runThreads(command.ranks, body);
}

int run(int count, char** arguments) {
  const Command command = readCommand(count, arguments);
  if (command.exitCode >= 0) return command.exitCode;
  if (command.exportTo.empty()) return trainAll(command.train);
  exportSafetensors(command.exportFrom, command.exportTo);
  return 0;
}

}  // namespace
}  // namespace rondo::train

int main(int count, char** arguments) {
  try {
    return rondo::train::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondo-train: %s\n", error.what());
    return 1;
  }
}
