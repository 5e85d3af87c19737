// The command line of `rondo tune`: TuneFlags as written, TuneOptions as understood.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/cli/perf/options.h"
#include "src/status.h"

namespace CLI {
class App;
}

namespace rondo::tune {

struct TuneFlags {
  std::vector<std::string> operations;
  int threads = 0;    ///< 0: not given
  int processes = 0;  ///< 0: not given
  std::string minBytes = "4K";
  std::string maxBytes = "8M";
  int stepFactor = 2;
  std::vector<std::string> chunks{"8K", "16K", "32K", "64K"};
  int rounds = 3;
  std::string file = "rondo-tune.txt";
};

/// Declares the flags on `app`, to be stored in `flags`.
void addTuneFlags(CLI::App& app, TuneFlags& flags);

struct TuneOptions {
  perf::PerfOptions measured;           ///< operations, ranks and sizes
  std::vector<std::size_t> chunkBytes;  ///< upwards
  int rounds = 3;
  std::string file;
};

/// @param launched as perf::understand()
/// @errors InvalidArgument, naming the flag or the variable
Result<TuneOptions> understand(const TuneFlags& flags, int launched);

}  // namespace rondo::tune
