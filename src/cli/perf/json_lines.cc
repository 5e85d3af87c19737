// Measurements as JSON, one object per line.

#include <nlohmann/json.hpp>

#include "src/cli/perf/record.h"
#include "src/cli/perf/report.h"

namespace rondo::perf {

namespace {

using Json = nlohmann::ordered_json;

class JsonLines final : public Report {
 public:
  explicit JsonLines(OutputFile file) : file_(std::move(file)) {}

  void begin(const RunFacts& facts, const PerfOptions& options) override {
    options_ = options;
    write({{"kind", "run"},
           {"program", facts.program},
           {"library", facts.library},
           {"machine", facts.machine},
           {"ranks", facts.ranks},
           {"rank_kind", facts.rankKind},
           {"transport", facts.transport},
           {"iterations", options.iterations},
           {"warmups", options.warmups},
           {"checks", options.checks},
           {"blocking", options.blocking},
           {"reproducible", options.reproducible},
           {"unalign_bytes", options.unalignBytes},
           {"buffers", bufferKindName(options.buffers)}});
  }

  void section(std::string_view, std::string_view) override {}

  void row(const Row& row) override {
    writeMeasurement(row, Placement::kOutOfPlace, row.outOfPlace);
    if (row.inPlace) writeMeasurement(row, Placement::kInPlace, *row.inPlace);
  }

  void end(const RunTotals& totals) override {
    Json summary = {
        {"kind", "summary"},        {"rows", totals.rows},         {"wrong", nullptr},
        {"avg_busbw_gbs", nullptr}, {"problems", totals.problems}, {"not_run", totals.skipped}};
    if (totals.checked) summary["wrong"] = totals.wrong;
    if (totals.measurements > 0) {
      summary["avg_busbw_gbs"] = totals.busGBsSum / static_cast<double>(totals.measurements);
    }
    write(summary);
  }

 private:
  void writeMeasurement(const Row& row, Placement placement, const Measurement& measurement) {
    Json line = {{"kind", "measurement"}};
    for (auto& [name, value] : recordOf(row, placement, measurement, options_)) {
      line[name] = std::move(value);
    }
    write(line);
  }

  void write(const Json& line) {
    fmt::print(file_.get(), "{}\n", line.dump());
    (void)std::fflush(file_.get());
  }

  OutputFile file_;
  PerfOptions options_;
};

}  // namespace

std::unique_ptr<Report> makeJsonLines(OutputFile file) {
  return std::make_unique<JsonLines>(std::move(file));
}

}  // namespace rondo::perf
