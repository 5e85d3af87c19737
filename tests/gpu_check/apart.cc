#include "tests/gpu_check/apart.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/gpu_check/child_process.h"

namespace rondo::gpucheck {

namespace {

/// The other process's report, in a file that goes with this object.
class OtherReport {
 public:
  OtherReport()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("rondo-gpu-check-{}.json", ::getpid())) {
    remove();
  }

  OtherReport(const OtherReport&) = delete;
  OtherReport& operator=(const OtherReport&) = delete;
  OtherReport(OtherReport&&) = delete;
  OtherReport& operator=(OtherReport&&) = delete;

  ~OtherReport() { remove(); }

  std::string path() const { return path_.string(); }

  /// Its only section; null if there is none yet.
  Json section() const {
    std::ifstream file(path_);
    const Json whole = Json::parse(file, nullptr, false);
    if (whole.is_discarded() || !whole.contains("sections") || whole["sections"].empty()) return {};
    return whole["sections"][0];
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::filesystem::path path_;
};

std::vector<std::string> commandOf(std::string_view section,
                                   const Options& options,
                                   const OtherReport& other,
                                   Deadline deadline) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(deadline.remaining()).count();
  std::vector<std::string> words = {ownPath(),    "--part",
                                    "--sections", std::string(section),
                                    "--json",     other.path(),
                                    "--seconds",  std::to_string(std::max<long>(seconds, 1)),
                                    "--patience", std::to_string(options.extent.patience.count())};
  if (options.extent.tiny) words.emplace_back("--tiny");
  return words;
}

/// It has reported what went wrong by itself, if anything did.
bool endedByItself(const ChildEnd& end) {
  return end.inTime && end.exitStatus >= 0 && end.exitStatus <= static_cast<int>(Verdict::kCut);
}

}  // namespace

std::chrono::seconds graceOf(const Extent& extent) {
  return 3 * extent.patience + std::chrono::seconds(5);
}

void runApart(Report& report,
              std::string_view section,
              const Options& options,
              Deadline deadline,
              Deadline last) {
  const OtherReport other;
  const auto takeOver = [&] {
    Json found = other.section();
    if (!found.is_null()) report.adopt(std::move(found));
  };
  const std::vector<std::string> words = commandOf(section, options, other, deadline);
  const Result<std::vector<ChildEnd>> ends =
      runProcesses({{.words = words, .variables = {}, .processors = {}}}, last, takeOver);
  takeOver();
  if (!ends.ok()) return report.check(ends.status(), "starting its process");
  const ChildEnd& end = ends->front();
  fmt::print("{}", end.output);
  (void)std::fflush(stdout);
  if (!endedByItself(end))
    report.check(Status::internal("{}; {}", end.text(), end.lastLine()), "its process");
}

}  // namespace rondo::gpucheck
