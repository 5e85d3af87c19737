#include "tests/gpu_check/options.h"

#include <CLI/CLI.hpp>

#include "tests/gpu_check/process_rank.h"

namespace rondo::gpucheck {

std::optional<Options> readOptions(int argc,
                                   char** argv,
                                   const std::vector<std::string>& sections,
                                   int& exitStatus) {
  Options options;
  CLI::App app(
      "Checks Rondo on the GPUs of this machine: right results, graphs, ranks that are processes, "
      "compute-sanitizer, then speed.\nExit status: 0 all that could be run passed, 1 something "
      "failed, 2 usage, 3 nothing was run (no driver or GPU), 4 nothing failed but time ran out.");
  long seconds = options.total.count();
  long patience = options.extent.patience.count();
  app.add_option("--json", options.json, "Write the report here as JSON while it grows");
  app.add_option("--seconds", seconds, "What all of it may take (280)")
      ->check(CLI::Range(1, 86400));
  app.add_option("--sections", options.sections, "Only these, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(sections));
  app.add_flag("--tiny", options.extent.tiny, "Few cases and small sizes");
  app.add_option("--patience", patience, "Seconds until a wait for another rank fails (10)")
      ->check(CLI::Range(1, 3600));
  app.add_flag("--one-process", options.oneProcess,
               "Do not give each section a process of its own, for debuggers and sanitizers");
  app.add_flag("--part", options.part)->group("");
  app.add_flag(std::string(kProcessRankFlag), options.processRank)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exitStatus = app.exit(error) == 0 ? 0 : static_cast<int>(Verdict::kUsage);
    return std::nullopt;
  }
  options.total = std::chrono::seconds(seconds);
  options.extent.patience = std::chrono::seconds(patience);
  return options;
}

}  // namespace rondo::gpucheck
