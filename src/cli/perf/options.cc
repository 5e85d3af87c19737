#include "src/cli/perf/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>

#include "src/cli/names.h"
#include "src/size_text.h"

namespace rondo::perf {

namespace {

constexpr std::size_t kDefaultFirst = 8;          // bytes
constexpr std::size_t kDefaultLast = 32U << 20U;  // bytes
constexpr std::string_view kAll = "all";

struct Advice {
  std::string_view flag;
  std::string_view text;
};

/// Flags of nccl-tests that mean nothing for ranks on host memory.
constexpr Advice kAdvices[] = {
    {"-g", "ranks are on host memory here; set their number with --threads or --ranks"},
    {"--ngpus", "ranks are on host memory here; set their number with --threads or --ranks"},
    {"-m", "operations are not grouped; every one is complete when the call returns"},
    {"--agg_iters", "operations are not grouped; every one is complete when the call returns"},
    {"-p", "all ranks are initialised together"},
    {"--parallel_init", "all ranks are initialised together"},
    {"-G", "there are no CUDA graphs on host memory"},
    {"--cudagraph", "there are no CUDA graphs on host memory"},
    {"-C", "the time of the call is the time of the operation on host memory"},
    {"--report_cputime", "the time of the call is the time of the operation on host memory"},
    {"-R", "use --buffers registered"},
    {"--local_register", "use --buffers registered"},
    {"-J", "use --jsonl FILE or --csv FILE"},
    {"--output_file", "use --jsonl FILE or --csv FILE"},
    {"-S", "use --jsonl FILE: it has the smallest, average and largest time over the ranks"},
};

/// `result`'s failure with the flag's name before it.
template <class T>
Status namingFlag(std::string_view flag, const Result<T>& result) {
  return result.status().withContext(flag);
}

Status requireRange(std::string_view flag, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return Status::invalidArgument("{}: {} is not from {} to {}", flag, value, least, most);
}

/// Reads a size where one was given.
Status readSize(std::string_view flag, const std::string& text, std::size_t& size) {
  if (text.empty()) return {};
  const Result<std::size_t> parsed = parseSize(text);
  if (!parsed.ok()) return namingFlag(flag, parsed);
  size = *parsed;
  return {};
}

Status readSweep(const PerfFlags& flags, PerfOptions& options) {
  std::size_t first = kDefaultFirst;
  RONDO_RETURN_IF_ERROR(readSize("-b", flags.minBytes, first));
  std::size_t last = std::max(first, kDefaultLast);
  RONDO_RETURN_IF_ERROR(readSize("-e", flags.maxBytes, last));
  if (flags.minBytes.empty()) first = std::min(first, last);
  std::size_t step = 0;
  RONDO_RETURN_IF_ERROR(readSize("-i", flags.stepBytes, step));
  if (!flags.stepBytes.empty() && step == 0) return Status::invalidArgument("-i: 0 never ends");
  if (first > last) {
    return Status::invalidArgument("-b {} is larger than -e {}", flags.minBytes, flags.maxBytes);
  }
  if (flags.stepFactor == 1 || flags.stepFactor < 0) {
    return Status::invalidArgument("-f: {} never ends; use 2 or more", flags.stepFactor);
  }
  if (step > 0 && flags.stepFactor > 0) {
    return Status::invalidArgument("-i and -f exclude each other; sizes grow one way");
  }
  options.sizes = sweepSizes(first, last, step, std::max(flags.stepFactor, 2));
  constexpr std::size_t kMostSizes = 100000;
  if (options.sizes.size() <= kMostSizes) return {};
  return Status::invalidArgument("-i: more than {} sizes; use a larger step", kMostSizes);
}

Status readOperations(const PerfFlags& flags, PerfOptions& options) {
  for (const std::string& name : flags.operations) {
    const Result<Operation> operation = findOperation(name);
    RONDO_RETURN_IF_ERROR(operation.status());
    options.operations.push_back(*operation);
  }
  return {};
}

Status readElements(const PerfFlags& flags, PerfOptions& options) {
  if (flags.type == kAll) {
    options.types = cli::allDataTypes();
  } else {
    const Result<DataType> type = cli::findDataType(flags.type);
    if (!type.ok()) return namingFlag("-d", type);
    options.types = {*type};
  }
  if (flags.op == kAll) {
    options.ops = cli::allReduceOps();
    return {};
  }
  const Result<ReduceOp> op = cli::findReduceOp(flags.op);
  if (!op.ok()) return namingFlag("-o", op);
  options.ops = {*op};
  return {};
}

/// What the ranks are and how many.
Status readRanks(const PerfFlags& flags, int launched, PerfOptions& options) {
  constexpr int kDefaultRanks = 2;
  if (flags.threads > 0 && flags.processes > 0) {
    return Status::invalidArgument(
        "--threads and --ranks exclude each other; ranks are one or the other");
  }
  if (launched > 0 && flags.processes > 0) {
    return Status::invalidArgument(
        "--ranks: a launcher has started {} ranks already; leave the flag out, or use --threads",
        launched);
  }
  options.processes = flags.processes > 0 || (launched > 0 && flags.threads == 0);
  options.ranks = kDefaultRanks;
  for (const int given : {flags.threads, flags.processes}) {
    if (given > 0) options.ranks = given;
  }
  if (options.processes && launched > 0) options.ranks = launched;
  return {};
}

Status readRoots(const PerfFlags& flags, PerfOptions& options) {
  if (flags.root == kAll) {
    for (int rank = 0; rank < options.ranks; ++rank)
      options.roots.push_back(rank);
    return {};
  }
  int root = -1;
  const char* const end = flags.root.data() + flags.root.size();
  const auto [stop, error] = std::from_chars(flags.root.data(), end, root);
  if (error != std::errc{} || stop != end || root < 0 || root >= options.ranks) {
    return Status::invalidArgument("-r: \"{}\" is no rank of {}; use 0 to {}, or all", flags.root,
                                   options.ranks, options.ranks - 1);
  }
  options.roots = {root};
  return {};
}

Status readAlgorithm(const PerfFlags& flags, PerfOptions& options) {
  options.algorithm.every = flags.algorithm == kAll;
  if (options.algorithm.every || flags.algorithm.empty()) return {};
  const std::size_t slash = std::min(flags.algorithm.find('/'), flags.algorithm.size());
  options.algorithm.name = flags.algorithm.substr(0, slash);
  for (const Operation& operation : options.operations) {
    if (operation.form == Form::kMessages)
      return Status::invalidArgument("--algorithm: messages have one way only; leave it out");
    const Result<AlgorithmId> id =
        cli::findAlgorithmNamed(operation.collective, options.algorithm.name);
    if (!id.ok()) return namingFlag("--algorithm", id);
  }
  if (slash == flags.algorithm.size()) return {};
  const Result<std::size_t> chunk = parseSize(flags.algorithm.substr(slash + 1));
  if (!chunk.ok()) return namingFlag("--algorithm", chunk);
  options.algorithm.chunkBytes = *chunk;
  return {};
}

Status readBufferKind(const PerfFlags& flags, PerfOptions& options) {
  for (const BufferKind kind : {BufferKind::kMalloc, BufferKind::kRondo, BufferKind::kRegistered}) {
    if (flags.buffers != bufferKindName(kind)) continue;
    options.buffers = kind;
    return {};
  }
  return Status::invalidArgument("--buffers: there is no \"{}\"; use malloc, rondo or registered",
                                 flags.buffers);
}

Status readBuffers(const PerfFlags& flags, PerfOptions& options) {
  RONDO_RETURN_IF_ERROR(readBufferKind(flags, options));
  RONDO_RETURN_IF_ERROR(readSize("--chunk-bytes", flags.chunkBytes, options.chunkBytes));
  RONDO_RETURN_IF_ERROR(readSize("--unalign", flags.unalign, options.unalignBytes));
  for (const DataType type : options.types) {
    if (options.unalignBytes % elementBytes(type) == 0) continue;
    return Status::invalidArgument(
        "--unalign: {} is not a multiple of the {} bytes of {}; elements must stay aligned",
        options.unalignBytes, elementBytes(type), dataTypeName(type));
  }
  return requireRange("--unalign", static_cast<double>(options.unalignBytes), 0, 1 << 20);
}

Status checkNumbers(const PerfFlags& flags) {
  constexpr double kMost = 1e9;
  RONDO_RETURN_IF_ERROR(requireRange("--threads", flags.threads, 0, 1024));
  RONDO_RETURN_IF_ERROR(requireRange("--ranks", flags.processes, 0, 1024));
  RONDO_RETURN_IF_ERROR(requireRange("-n", flags.iterations, 1, kMost));
  RONDO_RETURN_IF_ERROR(requireRange("-w", flags.warmups, 0, kMost));
  RONDO_RETURN_IF_ERROR(requireRange("-c", flags.checks, 0, kMost));
  RONDO_RETURN_IF_ERROR(requireRange("-a", flags.average, 0, 3));
  RONDO_RETURN_IF_ERROR(requireRange("-z", flags.blocking, 0, 1));
  RONDO_RETURN_IF_ERROR(requireRange("-N", flags.cycles, 0, kMost));
  if (flags.timeoutSeconds < 0) return {};
  return requireRange("--timeout", flags.timeoutSeconds, 0, 2e6);
}

void addSizeFlags(CLI::App& app, PerfFlags& flags) {
  const char* const group = "Sizes";
  app.add_option("-b,--minbytes", flags.minBytes, "Smallest size; K, M, G are allowed [8]")
      ->group(group);
  app.add_option("-e,--maxbytes", flags.maxBytes, "Largest size [32M]")->group(group);
  app.add_option("-i,--stepbytes", flags.stepBytes, "Add this from size to size")->group(group);
  app.add_option("-f,--stepfactor", flags.stepFactor, "Or multiply by this [2]")->group(group);
  app.add_option("--unalign", flags.unalign, "Bytes by which buffers miss a 64-byte boundary [0]")
      ->group(group);
  app.add_option(
         "--buffers", flags.buffers,
         "Memory of the buffers: malloc, rondo (of rondoMemAlloc) or registered (of malloc, "
         "by rondoCommRegister) [malloc]")
      ->group(group);
}

void addOperationFlags(CLI::App& app, PerfFlags& flags) {
  const char* const group = "Operation";
  app.add_option("-d,--datatype", flags.type, "Element type, or all [float]")->group(group);
  app.add_option("-o,--op", flags.op,
                 "sum, prod, min, max, avg, premulsum (or mulsum), or all [sum]")
      ->group(group);
  app.add_option("-r,--root", flags.root, "Root where there is one, or all [0]")->group(group);
  app.add_flag("--uneven", flags.uneven,
               "Blocks of operations that end in _v are of different sizes, not of one")
      ->group(group);
  app.add_option("--algorithm", flags.algorithm,
                 "Name, or all in turn; `rondo explain --list` has them [the planner's choice]")
      ->group(group);
  app.add_option("--channels", flags.channels, "Parallel lanes, 1 to 32")->group(group);
  app.add_option("--chunk-bytes", flags.chunkBytes, "Bytes of a slot, a multiple of 64")
      ->group(group);
  app.add_option("--slots", flags.slots, "Slots of a connection, 2 to 64")->group(group);
  app.add_flag("--reproducible", flags.reproducible, "Add in rank order whatever the size")
      ->group(group);
}

void addMeasuringFlags(CLI::App& app, PerfFlags& flags) {
  const char* const group = "Measuring";
  app.add_option("-t,--threads,--nthreads", flags.threads, "Ranks, a thread each [2]")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  app.add_option(
         "--ranks", flags.processes,
         "Ranks, a process of this host each; under a launcher (rondo run, mpirun, ...) ranks are "
         "what it has started, without this flag")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  app.add_option("-n,--iters", flags.iterations, "Timed operations [20]")->group(group);
  app.add_option("-w,--warmup_iters", flags.warmups, "Operations before that [5]")->group(group);
  app.add_option("-c,--check", flags.checks, "Checked operations, 0 for none [1]")->group(group);
  app.add_option("-a,--average", flags.average,
                 "Whose time is shown: 0 rank 0, 1 the average, 2 the fastest, 3 the slowest [1]")
      ->group(group);
  app.add_option("-z,--blocking", flags.blocking,
                 "1: ranks meet before each operation, and the meeting is not timed [0]")
      ->group(group);
  app.add_option("-N,--run_cycles", flags.cycles, "Repeat all this often, 0 for ever [1]")
      ->group(group);
  app.add_option("-T,--timeout", flags.timeoutSeconds,
                 "Seconds until a rank that waits gives up [1800]")
      ->group(group);
}

void addOutputFlags(CLI::App& app, PerfFlags& flags) {
  const char* const group = "Output";
  app.add_option("--jsonl", flags.jsonlFile, "Write JSON lines to a file; - for stdout, no table")
      ->group(group);
  app.add_option("--csv", flags.csvFile, "Write comma-separated values to a file")->group(group);
}

}  // namespace

void addPerfFlags(CLI::App& app, PerfFlags& flags) {
  app.add_option("OPERATION", flags.operations,
                 "One of " + namesOfOperations() +
                     "; several "
                     "are measured one after another")
      ->required();
  addSizeFlags(app, flags);
  addOperationFlags(app, flags);
  addMeasuringFlags(app, flags);
  addOutputFlags(app, flags);
}

std::string_view adviceOnFlag(std::string_view flag) {
  const auto found = std::ranges::find(kAdvices, flag, &Advice::flag);
  return found == std::end(kAdvices) ? std::string_view{} : found->text;
}

std::vector<std::size_t> sweepSizes(std::size_t first,
                                    std::size_t last,
                                    std::size_t step,
                                    int factor) {
  std::vector<std::size_t> sizes;
  const auto times = static_cast<std::size_t>(factor);
  for (std::size_t size = first; size <= last;) {
    sizes.push_back(size);
    if (step > 0 ? size > last - std::min(step, last) : size > last / times) break;
    size = step > 0 ? size + step : std::max(size * times, std::size_t{1});
  }
  return sizes;
}

Result<PerfOptions> understand(const PerfFlags& flags, int launched) {
  RONDO_RETURN_IF_ERROR(checkNumbers(flags));
  PerfOptions options;
  RONDO_RETURN_IF_ERROR(readRanks(flags, launched, options));
  RONDO_RETURN_IF_ERROR(readOperations(flags, options));
  RONDO_RETURN_IF_ERROR(readSweep(flags, options));
  RONDO_RETURN_IF_ERROR(readElements(flags, options));
  RONDO_RETURN_IF_ERROR(readRoots(flags, options));
  RONDO_RETURN_IF_ERROR(readAlgorithm(flags, options));
  RONDO_RETURN_IF_ERROR(readBuffers(flags, options));
  options.uneven = flags.uneven;
  options.iterations = flags.iterations;
  options.warmups = flags.warmups;
  options.checks = flags.checks;
  options.timeOf = static_cast<TimeOf>(flags.average);
  options.blocking = flags.blocking != 0;
  options.cycles = flags.cycles;
  options.channels = flags.channels;
  options.slots = flags.slots;
  options.reproducible = flags.reproducible;
  if (flags.timeoutSeconds >= 0) options.timeoutSeconds = flags.timeoutSeconds;
  options.jsonlFile = flags.jsonlFile;
  options.csvFile = flags.csvFile;
  return options;
}

}  // namespace rondo::perf
