// Measurements as comma-separated values. No field holds a comma or a quote.

#include "src/cli/perf/record.h"
#include "src/cli/perf/report.h"

namespace rondo::perf {

namespace {

class Csv final : public Report {
 public:
  explicit Csv(OutputFile file) : file_(std::move(file)) {}

  void begin(const RunFacts&, const PerfOptions& options) override {
    options_ = options;
    std::string names;
    for (const auto& [name, value] : recordOf(Row{}, Placement::kOutOfPlace, {}, options)) {
      names += names.empty() ? name : "," + name;
    }
    fmt::print(file_.get(), "{}\n", names);
  }

  void section(std::string_view, std::string_view) override {}

  void row(const Row& row) override {
    write(row, Placement::kOutOfPlace, row.outOfPlace);
    if (row.inPlace) write(row, Placement::kInPlace, *row.inPlace);
  }

  void end(const RunTotals&) override { (void)std::fflush(file_.get()); }

 private:
  /// Nothing for null, so that "not checked" is an empty field.
  static std::string fieldText(const nlohmann::json& value) {
    if (value.is_null()) return {};
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  void write(const Row& row, Placement placement, const Measurement& measurement) {
    std::string line;
    for (const auto& [name, value] : recordOf(row, placement, measurement, options_)) {
      if (!line.empty()) line += ',';
      line += fieldText(value);
    }
    fmt::print(file_.get(), "{}\n", line);
  }

  OutputFile file_;
  PerfOptions options_;
};

}  // namespace

std::unique_ptr<Report> makeCsv(OutputFile file) {
  return std::make_unique<Csv>(std::move(file));
}

}  // namespace rondo::perf
