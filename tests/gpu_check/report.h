// What was run and what came out: JSON in a file, which is whole and true at every moment, so that
// a run that is cut still reports what it got to; and lines for people on the standard output.
//
// The file, by example:
//
//   { "program": "rondo-gpu-check", "emulated": false, "complete": true, "devices": [...], ...
//     "sections": [
//       { "name": "smoke", "state": "passed", "seconds": 1.2,
//         "checks": {"planned": 40, "passed": 40, "failed": 0} },
//       { "name": "graphs", "state": "failed", ..., "failures": ["..."] },
//       { "name": "nccl", "state": "not run", "reason": "libnccl.so.2: cannot open ..." } ] }
//
// A section is "passed" only if all of it ran and was right; "cut" if time ran out, or the program
// ended, before all of it was run and nothing that ran was wrong.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/status.h"

namespace rondo::gpucheck {

using Json = nlohmann::ordered_json;

/// What a run comes to, and the program's exit status.
enum class Verdict : int {
  kPassed = 0,      ///< nothing failed; what was not run could not be here
  kFailed = 1,      ///< something was wrong
  kUsage = 2,       ///< the command line was
  kNothingRun = 3,  ///< no driver, no GPU, or nothing of what was asked for is here
  kCut = 4,         ///< nothing failed, but time ran out before all was run
};

/// @threads any
class Report {
 public:
  /// @param path of the JSON; empty: none
  /// @param facts what is known of the machine and the run
  Report(std::string path, Json facts);

  /// Lists the sections to come, as not run so far.
  void plan(const std::vector<std::string_view>& names);

  /// @param aloud else somebody else says what is to be said of it
  void begin(std::string_view section, bool aloud = true);
  void end();

  /// The section is not run; with `name`, one that was not begun.
  void notRun(std::string_view reason);
  void notRun(std::string_view name, std::string_view reason);

  // Of the section that runs:

  /// So many checks are to come in all.
  void expect(int checks);
  /// One is done. @param what was checked
  void check(const Status& outcome, std::string_view what);
  /// A result. @param text the same for people
  void row(Json row, std::string_view text);
  /// A part of it is not run.
  void partNotRun(std::string_view what, std::string_view reason);
  /// Time ran out.
  void cut();
  /// What another process has reported of it so far.
  void adopt(Json section);
  /// What is being done, for whoever has to say why it does not end.
  void doing(std::string activity);
  /// The section does not end; says so, and that the sections after it are not run.
  void abandon(std::chrono::seconds after);

  /// Writes the file if it lacks something; counts of checks may wait for this.
  void refresh();

  /// Ends the report: no section is left to run.
  Verdict finish();

 private:
  Json& current() { return file_["sections"][section_]; }

  void fail(std::string text);
  void settle();
  void write();

  std::mutex mutex_;
  std::string path_;
  Json file_;
  std::size_t section_ = 0;
  std::chrono::steady_clock::time_point begun_;
  bool stale_ = false;  // the file lacks counts
  std::string activity_;
};

}  // namespace rondo::gpucheck
