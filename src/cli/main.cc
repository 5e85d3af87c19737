// The command `rondo`: its subcommands, its messages and how it ends.

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "rondo/rondo.h"
#include "src/cli/exit_code.h"
#include "src/cli/explain/explain.h"
#include "src/cli/explain/registry_list.h"
#include "src/cli/explain/request.h"
#include "src/cli/explain/topology_text.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/perf.h"
#include "src/status.h"

namespace rondo::cli {

namespace {

int toInt(ExitCode code) {
  return static_cast<int>(code);
}

/// Tells why the command ends, on stderr.
int fail(const Status& status) {
  const char* const hint = status.code() == StatusCode::kInvalidArgument
                               ? "\nrondo perf --help and rondo explain --help list all flags"
                               : "";
  fmt::print(stderr, "rondo: {}{}\n", status.message(), hint);
  return toInt(exitCodeOf(status.code()));
}

/// Refuses words that no flag took.
Status refuseExtras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return {};
  const std::string flag = extras.front().substr(0, extras.front().find('='));
  const std::string_view advice =
      command.get_name() == "perf" ? perf::adviceOnFlag(flag) : std::string_view{};
  return Status::invalidArgument("rondo {} does not take {}{}{}", command.get_name(), flag,
                                 advice.empty() ? "" : ": ", advice);
}

int runPerfCommand(const CLI::App& command, const perf::PerfFlags& flags) {
  if (const Status status = refuseExtras(command); !status.ok()) return fail(status);
  const Result<perf::PerfOptions> options = perf::understand(flags);
  if (!options.ok()) return fail(options.status());
  const Result<perf::Verdict> verdict = perf::runPerf(*options);
  if (!verdict.ok()) return fail(verdict.status());
  return toInt(verdict->allRight ? ExitCode::kOk : ExitCode::kWrongResult);
}

Result<std::string> explainTopology(const ExplainFlags& flags) {
  RONDO_RETURN_IF_ERROR(checkRanks(flags.ranks));
  const Result<Topology> topology = topologyOf(flags.machine);
  RONDO_RETURN_IF_ERROR(topology.status());
  return topologyText(*topology, flags.ranks);
}

/// What is asked for: the topology, or a call.
Result<std::string> explainWhat(const ExplainFlags& flags) {
  if (flags.topology) return explainTopology(flags);
  const Result<ExplainRequest> request = understand(flags);
  RONDO_RETURN_IF_ERROR(request.status());
  return explain(*request);
}

int runExplainCommand(const CLI::App& command, const ExplainFlags& flags) {
  if (const Status status = refuseExtras(command); !status.ok()) return fail(status);
  if (flags.list) {
    fmt::print("{}", registryText());
    return toInt(ExitCode::kOk);
  }
  const Result<std::string> text = explainWhat(flags);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return toInt(ExitCode::kOk);
}

std::string versionText() {
  return fmt::format("rondo {}.{}.{}", RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH);
}

int run(int argc, char** argv) {
  CLI::App app("Rondo, collective communication for machine learning.", "rondo");
  app.set_version_flag("--version", versionText());
  app.require_subcommand(1);

  perf::PerfFlags perfFlags;
  CLI::App* const perfCommand =
      app.add_subcommand("perf", "Measure and check operations over a sweep of sizes");
  perfCommand->allow_extras();
  perf::addPerfFlags(*perfCommand, perfFlags);

  ExplainFlags explainFlags;
  CLI::App* const explainCommand =
      app.add_subcommand("explain", "Show the plan and the steps of a call, and why they are so");
  explainCommand->allow_extras();
  addExplainFlags(*explainCommand, explainFlags);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? code : toInt(ExitCode::kUsage);
  }
  if (perfCommand->parsed()) return runPerfCommand(*perfCommand, perfFlags);
  return runExplainCommand(*explainCommand, explainFlags);
}

}  // namespace

}  // namespace rondo::cli

int main(int argc, char** argv) {
  try {
    return rondo::cli::run(argc, argv);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "rondo: {}\n", exception.what());
    return static_cast<int>(rondo::cli::ExitCode::kFailure);
  }
}
