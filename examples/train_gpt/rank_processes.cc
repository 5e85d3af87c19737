#include "examples/train_gpt/rank_processes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace rondo::train {

namespace {

/// What only processes of a launcher find in their environment: all variables of a row.
constexpr std::array<std::array<const char*, 2>, 5> kLauncherVariables{{
    {"RONDO_RANK", "RONDO_RANKS"},
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_ID"},
}};

rondoConfig_t trainingConfig() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "train";
  config.reproducible = 1;
  return config;
}

/// Runs a rank and prints what it throws.
int play(const Communicator& comm, const RankBody& body) {
  try {
    return body(comm);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondo-train: rank %d: %s\n", comm.rank(), error.what());
    static_cast<void>(rondoCommAbort(comm.handle()));  // others do not wait for this rank
    return 1;
  }
}

int waitForAll(const std::vector<pid_t>& processes) {
  int code = 0;
  for (std::size_t left = processes.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    const auto rank = std::ranges::find(processes, ended) - processes.begin();
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "rondo-train: rank %td was killed by signal %d (%s)\n", rank,
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
      code = code == 0 ? 1 : code;
    } else if (WEXITSTATUS(status) != 0) {
      code = code == 0 ? WEXITSTATUS(status) : code;
    }
  }
  return code;
}

}  // namespace

bool startedByLauncher() {
  return std::ranges::any_of(kLauncherVariables, [](const auto& names) {
    return std::getenv(names[0]) != nullptr && std::getenv(names[1]) != nullptr;
  });
}

int runThreads(int ranks, const RankBody& body) {
  const std::vector<Communicator> comms = Communicator::createAll(ranks, trainingConfig());
  std::vector<int> codes(comms.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < comms.size(); ++rank)
      threads.emplace_back([&, rank] { codes[rank] = play(comms[rank], body); });
  }
  const auto bad = std::ranges::find_if(codes, [](int code) { return code != 0; });
  return bad == codes.end() ? 0 : *bad;
}

int runProcesses(int ranks, const RankBody& body) {
  const rondoUniqueId_t id = Communicator::makeUniqueId();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    if (process < 0) {
      std::perror("rondo-train: fork");
      return 1;
    }
    if (process > 0) {
      processes.push_back(process);
      continue;
    }
    int code = 1;
    try {
      code = play(Communicator::create(ranks, id, rank, trainingConfig()), body);
    } catch (const Error& error) {
      std::fprintf(stderr, "rondo-train: rank %d: %s\n", rank, error.what());
    }
    std::fflush(stdout);
    ::_exit(code);  // what the parent has begun is not ended here
  }
  return waitForAll(processes);
}

int runLaunched(const RankBody& body) {
  return play(Communicator::createFromEnvironment(trainingConfig()), body);
}

}  // namespace rondo::train
