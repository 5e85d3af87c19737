// The table on stdout, column for column as nccl-tests prints it, so that scripts can read both.

#include "src/cli/perf/bandwidth.h"
#include "src/cli/perf/report.h"

namespace rondo::perf {

namespace {

/// Four significant digits or more in eight columns.
std::string timeText(double micros) {
  if (micros < 10000) return fmt::format("{:.2f}", micros);
  return fmt::format("{:.0f}", micros);
}

std::string measurementText(const Case& what,
                            const PerfOptions& options,
                            const Measurement& measurement) {
  const double seconds = measurement.seconds(options.timeOf);
  const Bandwidth bandwidth = bandwidthOf(what.collective, options.ranks, what.bytes, seconds);
  const std::string wrong =
      measurement.checked ? fmt::format("{}", measurement.wrong) : std::string("N/A");
  return fmt::format("{:>9}  {:>6.2f}  {:>6.2f}  {:>6}", timeText(seconds * 1e6),
                     bandwidth.algorithmGBs, bandwidth.busGBs, wrong);
}

constexpr std::string_view kTimeNames[] = {"of rank 0", "average of all ranks",
                                           "of the fastest rank", "of the slowest rank"};

std::string_view describeBuffers(BufferKind kind) {
  switch (kind) {
    case BufferKind::kRondo:
      return "of rondoMemAlloc";
    case BufferKind::kRegistered:
      return "of malloc, registered";
    default:
      return "of malloc";
  }
}

class Table final : public Report {
 public:
  void begin(const RunFacts& facts, const PerfOptions& options) override {
    options_ = options;
    fmt::print("# {}, library {}\n", facts.program, facts.library);
    fmt::print("# ranks {} ({}), transport {}, {}\n", facts.ranks, facts.rankKind, facts.transport,
               facts.machine);
    fmt::print("# sizes {} to {} bytes, warm-up calls {}, timed calls {}, checked calls {}\n",
               options.sizes.front(), options.sizes.back(), options.warmups, options.iterations,
               options.checks);
    fmt::print("# buffers: {}\n", describeBuffers(options.buffers));
    fmt::print("# time: ranks meet {}, then elapsed time / calls, {}\n",
               options.blocking ? "before each call (not timed)" : "once",
               kTimeNames[static_cast<std::size_t>(options.timeOf)]);
  }

  void section(std::string_view operation, std::string_view algorithm) override {
    fmt::print("#\n# {}, algorithm {}\n#\n", operation,
               algorithm == "planner" ? "of the planner's choice" : algorithm);
    fmt::print("#{:>53}{:>34}{:>33}\n", "", "out-of-place           ", "in-place            ");
    fmt::print("#{:>12}{:>13}{:>10}{:>10}{:>7}", "size", "count", "type", "redop", "root");
    printColumns("time", "algbw", "busbw", "#wrong");
    fmt::print("#{:>12}{:>13}{:>10}{:>10}{:>7}", "(B)", "(elements)", "", "", "");
    printColumns("(us)", "(GB/s)", "(GB/s)", "");
  }

  void row(const Row& row) override {
    const Case& what = row.what;
    fmt::print("{:>13}{:>13}{:>10}{:>10}{:>7}", what.bytes, what.count, dataTypeName(what.type),
               redOpText(what), rootOrNone(what));
    fmt::print("  {}", measurementText(what, options_, row.outOfPlace));
    fmt::print("  {}\n",
               row.inPlace ? measurementText(what, options_, *row.inPlace)
                           : fmt::format("{:>9}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A"));
    (void)std::fflush(stdout);
  }

  void end(const RunTotals& totals) override {
    fmt::print("#\n");
    for (const std::string& text : totals.skipped)
      fmt::print("# not run: {}\n", text);
    for (const std::string& text : totals.problems)
      fmt::print("# wrong: {}\n", text);
    fmt::print("# Out of bounds values : {} {}\n", totals.wrong,
               !totals.checked     ? "(not checked)"
               : totals.wrong == 0 ? "OK"
                                   : "FAILED");
    if (totals.measurements > 0) {
      fmt::print("# Avg bus bandwidth    : {:.4g}\n",
                 totals.busGBsSum / static_cast<double>(totals.measurements));
    }
    fmt::print("#\n");
  }

 private:
  static void printColumns(std::string_view time,
                           std::string_view algorithm,
                           std::string_view bus,
                           std::string_view wrong) {
    for (int placement = 0; placement < 2; ++placement)
      fmt::print("  {:>9}  {:>6}  {:>6}  {:>6}", time, algorithm, bus, wrong);
    fmt::print("\n");
  }

  PerfOptions options_;
};

}  // namespace

std::unique_ptr<Report> makeTable() {
  return std::make_unique<Table>();
}

}  // namespace rondo::perf
