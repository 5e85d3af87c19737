// The command line of `rondo perf`: PerfFlags as written, PerfOptions as understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/registry.h"
#include "kernels/data_type.h"
#include "src/cli/perf/case.h"
#include "src/status.h"

namespace CLI {
class App;
}

namespace rondo::perf {

/// Words and numbers of the command line; the letters are those of nccl-tests.
struct PerfFlags {
  std::vector<std::string> operations;
  int threads = 0;    ///< 0: not given
  int processes = 0;  ///< 0: not given
  std::string minBytes;
  std::string maxBytes;
  std::string stepBytes;
  int stepFactor = 0;  ///< 0: not given
  int iterations = 20;
  int warmups = 5;
  int checks = 1;
  std::string type = "float";
  std::string op = "sum";
  std::string root = "0";
  bool uneven = false;
  int average = 1;
  int blocking = 0;
  int cycles = 1;
  std::string algorithm;
  int channels = 0;
  std::string chunkBytes;
  int slots = 0;
  bool reproducible = false;
  std::string unalign = "0";
  std::string buffers = "malloc";
  double timeoutSeconds = -1;  ///< negative: not given
  std::string jsonlFile;
  std::string csvFile;
};

/// Declares the flags on `app`, to be stored in `flags`.
void addPerfFlags(CLI::App& app, PerfFlags& flags);

/// Why a flag of nccl-tests is not taken, and what to use; empty for other flags.
std::string_view adviceOnFlag(std::string_view flag);

/// The algorithm wished for: a name, or every one in turn.
struct AlgorithmWish {
  bool every = false;
  std::string name;            ///< empty: the planner's choice
  std::size_t chunkBytes = 0;  ///< in chunks of at most so many; 0: the planner's choice
};

struct PerfOptions {
  std::vector<Operation> operations;
  int ranks = 2;
  bool processes = false;  ///< what the ranks are; otherwise threads
  /// How they reach each other, such as "shm+tcp"; of processes it is known once they have met.
  std::string transport = "inproc";
  std::vector<std::size_t> sizes;  ///< bytes, as the table's first column
  int iterations = 20;
  int warmups = 5;
  int checks = 1;
  std::vector<DataType> types;
  std::vector<ReduceOp> ops;
  std::vector<int> roots;
  bool uneven = false;  ///< blocks where they may be of different sizes
  TimeOf timeOf = TimeOf::kAverage;
  bool blocking = false;
  int cycles = 1;  ///< 0: until stopped
  AlgorithmWish algorithm;
  int channels = 0;  ///< 0 and below: the planner's choice, here and in the next two
  std::size_t chunkBytes = 0;
  int slots = 0;
  bool unlimitedSlots = false;  ///< whatever memory slots take together
  bool reproducible = false;
  std::size_t unalignBytes = 0;
  BufferKind buffers = BufferKind::kMalloc;
  std::optional<double> timeoutSeconds;
  std::string jsonlFile;
  std::string csvFile;
};

/// @param launched the number of ranks that a launcher has started, of which this process is one;
/// 0:
///   none has
/// @errors InvalidArgument, naming the flag
Result<PerfOptions> understand(const PerfFlags& flags, int launched = 0);

/// The sizes from `first` to `last`, each `step` larger or `factor` times as large as the one
/// before.
/// @param step   0: use `factor`
/// @param factor 2 or more
std::vector<std::size_t> sweepSizes(std::size_t first,
                                    std::size_t last,
                                    std::size_t step,
                                    int factor);

}  // namespace rondo::perf
