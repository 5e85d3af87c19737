// Where measurements go while they are made: the table, JSON lines, CSV.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/perf/case.h"
#include "src/cli/perf/options.h"
#include "src/status.h"

namespace rondo::perf {

/// The same for all measurements of a run.
struct RunFacts {
  std::string program;  ///< name and version of the command
  std::string library;  ///< version of the library
  std::string machine;
  int ranks = 0;
  std::string_view rankKind;  ///< "processes", ...
  std::string transport;      ///< PerfOptions::transport
};

/// How a run ended.
struct RunTotals {
  std::size_t rows = 0;
  std::size_t wrong = 0;         ///< elements
  double busGBsSum = 0;          ///< over the measurements
  std::size_t measurements = 0;  ///< with a bandwidth
  bool checked = false;
  std::vector<std::string> problems;  ///< what the checks found
  std::vector<std::string> skipped;   ///< what the library cannot do
};

/// Receives a run as it goes.
/// @threads one at a time
class Report {
 public:
  Report() = default;
  virtual ~Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  virtual void begin(const RunFacts& facts, const PerfOptions& options) = 0;
  /// Rows of one operation under one choice of algorithm follow.
  virtual void section(std::string_view operation, std::string_view algorithm) = 0;
  virtual void row(const Row& row) = 0;
  virtual void end(const RunTotals& totals) = 0;
};

/// A file, or stdout for "-". Closes what it opened.
class OutputFile {
 public:
  /// @errors SystemError
  static Result<OutputFile> open(const std::string& path);

  std::FILE* get() const { return opened_ ? opened_.get() : stdout; }

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };

  std::unique_ptr<std::FILE, Close> opened_;
};

/// The columns of nccl-tests, on stdout.
std::unique_ptr<Report> makeTable();

/// One object per line: one of kind "run", then one of kind "measurement" per placement, and one of
/// kind "summary".
std::unique_ptr<Report> makeJsonLines(OutputFile file);

/// A line of names, then one line per placement.
std::unique_ptr<Report> makeCsv(OutputFile file);

}  // namespace rondo::perf
