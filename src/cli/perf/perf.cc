#include "src/cli/perf/perf.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/machine.h"
#include "src/cli/names.h"
#include "src/cli/perf/bandwidth.h"
#include "src/cli/perf/predictable.h"
#include "src/cli/perf/rank_buffers.h"
#include "src/cli/perf/rank_team.h"
#include "src/cli/perf/report.h"
#include "src/plan_rule.h"
#include "src/size_text.h"

namespace rondo::perf {

namespace {

constexpr std::size_t kMostProblems = 20;  // told in full

std::string versionText(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

RunFacts runFacts(const PerfOptions& options, bool isProcess) {
  int library = 0;
  (void)rondoGetVersion(&library);
  return {fmt::format("rondo perf {}", versionText(RONDO_VERSION)),
          versionText(library),
          cli::processorModel(),
          options.ranks,
          isProcess ? "processes" : "threads of one process",
          options.transport};
}

using Reports = std::vector<std::unique_ptr<Report>>;

Result<Reports> openReports(const PerfOptions& options) {
  Reports reports;
  const bool stdoutTaken = options.jsonlFile == "-" || options.csvFile == "-";
  if (options.jsonlFile == "-" && options.csvFile == "-") {
    return Status::invalidArgument("--jsonl - and --csv - can't both have stdout");
  }
  if (!stdoutTaken) reports.push_back(makeTable());
  if (!options.jsonlFile.empty()) {
    Result<OutputFile> file = OutputFile::open(options.jsonlFile);
    RONDO_RETURN_IF_ERROR(file.status());
    reports.push_back(makeJsonLines(*std::move(file)));
  }
  if (!options.csvFile.empty()) {
    Result<OutputFile> file = OutputFile::open(options.csvFile);
    RONDO_RETURN_IF_ERROR(file.status());
    reports.push_back(makeCsv(*std::move(file)));
  }
  return reports;
}

/// The algorithms to measure for `operation`; an empty one is the planner's choice.
std::vector<std::optional<AlgorithmId>> algorithmsFor(const PerfOptions& options,
                                                      Operation operation) {
  std::vector<std::optional<AlgorithmId>> chosen;
  const Collective collective = operation.collective;
  if (operation.form == Form::kMessages) {
    chosen.emplace_back();
  } else if (options.algorithm.every) {
    for (const AlgorithmId id : cli::algorithmsOf(collective))
      chosen.emplace_back(id);
  } else {
    chosen.push_back(options.algorithm.name.empty()
                         ? std::nullopt
                         : findAlgorithm(collective, options.algorithm.name));
  }
  return chosen;
}

/// `base` with each reduction that can be used with its type.
std::vector<Case> withOps(const Case& base, const PerfOptions& options) {
  if (!isReduction(base.collective)) return {base};
  std::vector<Case> cases;
  for (const ReduceOp op : options.ops) {
    if (!isReducible(base.type, op)) continue;
    cases.push_back(base);
    cases.back().op = op;
  }
  return cases;
}

/// All lines of one section: types, reductions, roots, and for each the sizes.
std::vector<Case> casesOf(const PerfOptions& options,
                          Operation operation,
                          std::optional<AlgorithmId> algorithm) {
  const Collective collective = operation.collective;
  Case base;
  base.collective = collective;
  base.form = operation.form;
  base.uneven = options.uneven && operation.form == Form::kBlocks;
  base.algorithm = algorithm;
  if (collective == Collective::kBarrier) {
    base.type = DataType::kUint8;
    return {base};
  }
  std::vector<Case> cases;
  for (const DataType type : options.types) {
    base.type = type;
    for (Case one : withOps(base, options)) {
      for (const int root : hasRoot(operation) ? options.roots : std::vector<int>{0}) {
        one.root = root;
        for (const std::size_t size : options.sizes) {
          one.count = countForBytes(collective, type, options.ranks, size);
          one.bytes = bytesOfCount(collective, type, options.ranks, one.count);
          cases.push_back(one);
        }
      }
    }
  }
  return cases;
}

/// A generous guess at what the library needs besides: a connection between any two ranks.
std::size_t connectionBytes(const PerfOptions& options) {
  constexpr std::size_t kUsualChunk = 65536;
  constexpr std::size_t kUsualSlots = 4;
  const auto ranks = static_cast<std::size_t>(options.ranks);
  const std::size_t chunk = options.chunkBytes > 0 ? options.chunkBytes : kUsualChunk;
  const std::size_t slots =
      options.slots > 0 ? static_cast<std::size_t>(options.slots) : kUsualSlots;
  const std::size_t channels =
      options.channels > 0 ? static_cast<std::size_t>(options.channels) : 1;
  return ranks * (ranks - 1) * chunk * slots * channels;
}

/// Refuses a sweep that would not fit, before anything is measured.
Status checkMemory(const PerfOptions& options) {
  const std::size_t available = cli::availableMemoryBytes();
  const std::size_t most = options.sizes.back();
  for (const Operation& operation : options.operations) {
    Case largest;
    largest.collective = operation.collective;
    largest.form = operation.form;
    largest.type = DataType::kUint8;
    largest.count = countForBytes(operation.collective, largest.type, options.ranks, most);
    // One more of the size: what a block is rounded up by, and what a report of errors needs.
    const std::size_t needed =
        bufferBytes(largest, options.ranks) + most / 8 + connectionBytes(options);
    if (most < available && needed < available) continue;
    return Status::invalidArgument(
        "-e {}: {} on {} ranks needs about {}, and {} are available; use a smaller -e or fewer "
        "--threads",
        formatSize(most), operationName(operation), options.ranks, formatSize(needed),
        formatSize(available));
  }
  return {};
}

Measurement summarised(const std::vector<RankReport>& ranks, bool checked) {
  Measurement measurement;
  measurement.checked = checked;
  measurement.rank0Seconds = ranks.front().secondsPerCall;
  measurement.fastestSeconds = measurement.slowestSeconds = measurement.rank0Seconds;
  double sum = 0;
  for (const RankReport& rank : ranks) {
    sum += rank.secondsPerCall;
    measurement.fastestSeconds = std::min(measurement.fastestSeconds, rank.secondsPerCall);
    measurement.slowestSeconds = std::max(measurement.slowestSeconds, rank.secondsPerCall);
    measurement.wrong += rank.wrong;
  }
  measurement.averageSeconds = sum / static_cast<double>(ranks.size());
  return measurement;
}

class PerfRun {
 public:
  PerfRun(const PerfOptions& options, const ProcessRank* self, Reports reports)
      : options_(options), self_(self), reports_(std::move(reports)) {
    totals_.checked = options.checks > 0;
  }

  Status run() {
    for (const auto& report : reports_)
      report->begin(runFacts(options_, self_ != nullptr), options_);
    Status status;
    for (int cycle = 0; status.ok() && (options_.cycles == 0 || cycle < options_.cycles); ++cycle) {
      status = runCycle(cycle);
    }
    for (const auto& report : reports_)
      report->end(totals_);
    return status;
  }

  const RunTotals& totals() const { return totals_; }

 private:
  Status runCycle(int cycle) {
    for (const Operation& operation : options_.operations) {
      for (const std::optional<AlgorithmId> algorithm : algorithmsFor(options_, operation)) {
        RONDO_RETURN_IF_ERROR(runSection(cycle, operation, algorithm));
      }
    }
    return {};
  }

  Status runSection(int cycle, Operation operation, std::optional<AlgorithmId> algorithm) {
    const std::string rules =
        algorithm
            ? planRuleText({.algorithm = *algorithm, .chunkBytes = options_.algorithm.chunkBytes})
            : std::string();
    Result<RankTeam> team = RankTeam::create(options_, rules, self_);
    RONDO_RETURN_IF_ERROR(team.status());
    const std::vector<Case> cases = casesOf(options_, operation, algorithm);
    for (const auto& report : reports_) {
      report->section(operationName(operation),
                      algorithm ? algorithmInfo(*algorithm).name : "planner");
    }
    for (const Case& what : cases) {
      const Status status = runRow(*team, what, cycle);
      if (status.code() == StatusCode::kNotSupported) {
        noteSkipped(status);
      } else {
        RONDO_RETURN_IF_ERROR(status);
      }
    }
    return {};
  }

  Status runRow(RankTeam& team, const Case& what, int cycle) {
    const PredictableData data({what.collective, what.type, what.op, options_.ranks, what.root,
                                what.count, static_cast<std::uint64_t>(cycle), what.form,
                                what.uneven});
    Row row;
    row.what = what;
    row.cycle = cycle;
    RONDO_RETURN_IF_ERROR(measure(team, what, data, Placement::kOutOfPlace, row.outOfPlace));
    if (goesInPlace(operationOf(what))) {
      row.inPlace.emplace();
      RONDO_RETURN_IF_ERROR(measure(team, what, data, Placement::kInPlace, *row.inPlace));
    }
    ++totals_.rows;
    for (const auto& report : reports_)
      report->row(row);
    return {};
  }

  Status measure(RankTeam& team,
                 const Case& what,
                 const PredictableData& data,
                 Placement placement,
                 Measurement& measurement) {
    const Result<std::vector<RankReport>> ranks = team.run(options_, what, data, placement);
    RONDO_RETURN_IF_ERROR(ranks.status());
    measurement = summarised(*ranks, options_.checks > 0);
    totals_.wrong += measurement.wrong;
    if (what.collective != Collective::kBarrier) {
      const double seconds = measurement.seconds(options_.timeOf);
      totals_.busGBsSum += bandwidthOf(what.collective, options_.ranks, what.bytes, seconds).busGBs;
      ++totals_.measurements;
    }
    for (const RankReport& rank : *ranks) {
      if (rank.problem.empty() || totals_.problems.size() >= kMostProblems) continue;
      totals_.problems.push_back(fmt::format("{} {} {} {} count {} {}: {}",
                                             operationName(operationOf(what)), algorithmText(what),
                                             dataTypeName(what.type), redOpText(what), what.count,
                                             placementName(placement), rank.problem));
    }
    return {};
  }

  /// The same reason holds for all sizes, and for all ranks but for their number at its start.
  void noteSkipped(const Status& status) {
    std::string_view text = status.message();
    if (text.starts_with("rank "))
      text.remove_prefix(std::min(text.find(": "), text.size() - 2) + 2);
    if (std::ranges::find(totals_.skipped, text) == totals_.skipped.end()) {
      totals_.skipped.emplace_back(text);
    }
  }

  const PerfOptions& options_;
  const ProcessRank* self_;
  Reports reports_;
  RunTotals totals_;
};

}  // namespace

Result<Verdict> runPerf(const PerfOptions& options, const ProcessRank* self) {
  RONDO_RETURN_IF_ERROR(checkConfig(options));
  RONDO_RETURN_IF_ERROR(checkMemory(options));
  const bool reportsHere = self == nullptr || self->rank() == 0;
  Result<Reports> reports = reportsHere ? openReports(options) : Reports{};
  RONDO_RETURN_IF_ERROR(reports.status());
  PerfRun run(options, self, *std::move(reports));
  RONDO_RETURN_IF_ERROR(run.run());
  if (run.totals().rows == 0) {
    return Status::notSupported("nothing could be measured{}{}",
                                run.totals().skipped.empty() ? "" : ": ",
                                run.totals().skipped.empty() ? "" : run.totals().skipped.front());
  }
  return Verdict{run.totals().wrong == 0};
}

}  // namespace rondo::perf
