// The command line of `rondo explain`: ExplainFlags as written, ExplainRequest as understood.
#pragma once

#include <string>
#include <vector>

#include "src/planner.h"
#include "src/status.h"

namespace CLI {
class App;
}

namespace rondo::cli {

struct ExplainFlags {
  std::string operation;
  std::string size;
  int ranks = 4;
  int hosts = 1;
  std::string type = "float";
  std::string op = "sum";
  int root = 0;
  int rank = -1;  ///< whose steps; negative: those of all where there are few
  std::string algorithm;
  int channels = 0;
  std::string chunkBytes;
  int slots = 0;
  bool reproducible = false;
  int cpus = 0;  ///< 0: those of this machine
  bool all = false;
  bool list = false;
  bool settings = false;
  bool topology = false;
  std::string machine;  ///< that the ranks are on; empty: this one
};

/// Declares the flags on `app`, to be stored in `flags`.
void addExplainFlags(CLI::App& app, ExplainFlags& flags);

struct ExplainRequest {
  PlanRequest plan;
  std::size_t bytes = 0;  ///< of the operation, as `rondo perf` counts them
  PlanFacts facts;
  PlanSettings settings;
  std::vector<int> shownRanks;  ///< whose steps are printed
  bool everything = false;      ///< nothing is left out
};

/// The most ranks that `rondo explain` takes.
inline constexpr int kMostExplainedRanks = 65536;

/// Ok for 1 to kMostExplainedRanks.
/// @errors InvalidArgument, naming the flag
Status checkRanks(int ranks);

/// Takes the environment's settings into account, as a communicator would.
/// @errors InvalidArgument, naming the flag
Result<ExplainRequest> understand(const ExplainFlags& flags);

}  // namespace rondo::cli
