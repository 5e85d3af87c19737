// The first section once more under compute-sanitizer, where there is a working one.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/gpu_check/child_process.h"
#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

namespace {

/// What the tool exits with when it has found something; neither a Verdict nor a shell's.
constexpr int kFoundErrors = 86;

/// Where toolkits put it, if it is not on PATH.
constexpr const char* kUsualPath = "/usr/local/cuda/bin/compute-sanitizer";

Result<ChildEnd> runOne(const std::vector<std::string>& words, Deadline deadline) {
  Result<std::vector<ChildEnd>> ends =
      runProcesses({{.words = words, .variables = {}, .processors = {}}}, deadline);
  RONDO_RETURN_IF_ERROR(ends.status());
  return std::move(ends->front());
}

/// The tool's path.
/// @errors NotSupported: why there is none that works
Result<std::string> findTool() {
  const Deadline soon = Deadline::within(std::chrono::seconds(10));
  std::string why = "compute-sanitizer is neither on PATH nor in /usr/local/cuda/bin";
  for (const char* path : {"compute-sanitizer", kUsualPath}) {
    const Result<ChildEnd> end = runOne({path, "--version"}, soon);
    if (!end.ok()) continue;  // not there
    if (end->inTime && end->exitStatus == 0) return std::string(path);
    why = fmt::format("{} --version {}: {}", path, end->text(), end->lastLine());
  }
  return Status::notSupported("{}", why);
}

/// The lines of the output that tell most.
std::string firstFinding(const std::string& output) {
  for (const std::string_view mark : {"========= Invalid", "========= Error", "========= Barrier",
                                      "========= Race", "failed: "}) {
    const std::size_t at = output.find(mark);
    if (at != std::string::npos) return output.substr(at, output.find('\n', at) - at);
  }
  return "";
}

void judge(const Section& section, const ChildEnd& end, const std::string& text) {
  const bool clean = end.output.find("ERROR SUMMARY: 0 errors") != std::string::npos ||
                     end.output.find("RACECHECK SUMMARY: 0 hazards") != std::string::npos;
  const std::string finding = firstFinding(end.output);
  if (!end.inTime) {
    section.report.cut();
  } else if (end.exitStatus == 0 && clean) {
    section.report.check({}, text);
  } else if (end.exitStatus == kFoundErrors || !finding.empty()) {
    section.report.check(
        Status::internal("{}; {}", end.text(), finding.empty() ? end.lastLine() : finding), text);
  } else {
    section.report.notRun(
        fmt::format("compute-sanitizer does not work here: {}; {}", end.text(), end.lastLine()));
  }
}

void checkUnder(const Section& section, const std::string& tool) {
  section.report.doing("looking for compute-sanitizer");
  const Result<std::string> path = findTool();
  if (!path.ok()) return section.report.notRun(path.status().message());
  const std::string text = fmt::format("compute-sanitizer --tool {}", tool);
  section.report.doing(text);
  const auto seconds = section.deadline.remaining() / std::chrono::seconds(1);
  const std::vector<std::string> words = {*path,
                                          "--tool",
                                          tool,
                                          "--error-exitcode",
                                          std::to_string(kFoundErrors),
                                          ownPath(),
                                          "--one-process",
                                          "--tiny",
                                          "--sections",
                                          "smoke",
                                          "--patience",
                                          "60",
                                          "--seconds",
                                          std::to_string(std::max<long>(seconds, 1))};
  const Result<ChildEnd> end = runOne(words, section.deadline);
  if (!end.ok()) return section.report.notRun(end.status().message());
  judge(section, *end, text);
}

}  // namespace

void checkUnderMemcheck(const Section& section) {
  checkUnder(section, "memcheck");
}

void checkUnderRacecheck(const Section& section) {
  checkUnder(section, "racecheck");
}

void checkUnderSynccheck(const Section& section) {
  checkUnder(section, "synccheck");
}

}  // namespace rondo::gpucheck
