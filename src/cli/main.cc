// The command `rondo`: its subcommands, its messages and how it ends.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "rondo/rondo.h"
#include "src/bootstrap/launcher.h"
#include "src/cli/doctor/doctor.h"
#include "src/cli/exit_code.h"
#include "src/cli/explain/explain.h"
#include "src/cli/explain/registry_list.h"
#include "src/cli/explain/request.h"
#include "src/cli/explain/settings_text.h"
#include "src/cli/explain/topology_text.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/perf.h"
#include "src/cli/perf/process_rank.h"
#include "src/cli/run/options.h"
#include "src/cli/run/run.h"
#include "src/cli/tune/options.h"
#include "src/cli/tune/tune.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo::cli {

namespace {

int toInt(ExitCode code) {
  return static_cast<int>(code);
}

/// Tells why the command ends, on stderr.
int fail(const Status& status) {
  const char* const hint =
      status.code() == StatusCode::kInvalidArgument
          ? "\nrondo --help lists the subcommands, and rondo SUBCOMMAND --help all flags"
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

/// How many ranks a launcher has started, of which this process is one; 0: it was started alone.
Result<int> countLaunched() {
  const Environment environment = wholeEnvironment();
  const Result<Config> config = loadConfig(nullptr, processEnvironment());
  RONDO_RETURN_IF_ERROR(config.status());
  if (!isLaunched(config->meeting, environment)) return 0;
  const Result<Launch> launch = findLaunch(config->meeting, environment);
  RONDO_RETURN_IF_ERROR(launch.status());
  return launch->ranks;
}

/// Runs this command again, once per rank, without its flag --ranks.
Result<int> runAsProcesses(int ranks, std::span<char*> words) {
  run::RunOptions options;
  options.ranks = ranks;
  options.prefix = false;
  options.words = {"/proc/self/exe"};
  constexpr std::string_view kFlag = "--ranks";
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == kFlag) {
      ++at;  // its value
    } else if (!word.starts_with(std::string(kFlag) + "=")) {
      options.words.emplace_back(word);
    }
  }
  return run::runRanks(options);
}

Result<int> measure(perf::PerfOptions options) {
  std::optional<perf::ProcessRank> self;
  if (options.processes) {
    Result<perf::ProcessRank> joined = perf::ProcessRank::join();
    RONDO_RETURN_IF_ERROR(joined.status());
    self.emplace(*std::move(joined));
    options.transport = self->transports();
  }
  const Result<perf::Verdict> verdict = perf::runPerf(options, self ? &*self : nullptr);
  // What is the same on all ranks is told by one.
  const bool quiet = self && self->rank() != 0;
  if (quiet && verdict.status().code() == StatusCode::kNotSupported) {
    return toInt(exitCodeOf(StatusCode::kNotSupported));
  }
  RONDO_RETURN_IF_ERROR(verdict.status());
  return toInt(verdict->allRight ? ExitCode::kOk : ExitCode::kBadFound);
}

int runPerfCommand(const CLI::App& command, const perf::PerfFlags& flags, std::span<char*> words) {
  if (const Status status = refuseExtras(command); !status.ok()) return fail(status);
  const Result<int> launched = countLaunched();
  if (!launched.ok()) return fail(launched.status());
  const Result<perf::PerfOptions> options = perf::understand(flags, *launched);
  if (!options.ok()) return fail(options.status());
  const Result<int> code =
      flags.processes > 0 ? runAsProcesses(flags.processes, words) : measure(*options);
  return code.ok() ? *code : fail(code.status());
}

Result<int> tuneHere(tune::TuneOptions options) {
  std::optional<perf::ProcessRank> self;
  if (options.measured.processes) {
    Result<perf::ProcessRank> joined = perf::ProcessRank::join();
    RONDO_RETURN_IF_ERROR(joined.status());
    self.emplace(*std::move(joined));
  }
  RONDO_RETURN_IF_ERROR(tune::runTune(options, self ? &*self : nullptr));
  return toInt(ExitCode::kOk);
}

int runTuneCommand(const CLI::App& command, const tune::TuneFlags& flags, std::span<char*> words) {
  if (const Status status = refuseExtras(command); !status.ok()) return fail(status);
  const Result<int> launched = countLaunched();
  if (!launched.ok()) return fail(launched.status());
  const Result<tune::TuneOptions> options = tune::understand(flags, *launched);
  if (!options.ok()) return fail(options.status());
  const Result<int> code =
      flags.processes > 0 ? runAsProcesses(flags.processes, words) : tuneHere(*options);
  return code.ok() ? *code : fail(code.status());
}

Result<std::string> explainTopology(const ExplainFlags& flags) {
  RONDO_RETURN_IF_ERROR(checkRanks(flags.ranks));
  const Result<Topology> topology = topologyOf(flags.machine);
  RONDO_RETURN_IF_ERROR(topology.status());
  return topologyText(*topology, flags.ranks);
}

/// What is asked for: the topology, the settings, or a call.
Result<std::string> explainWhat(const ExplainFlags& flags) {
  if (flags.topology) return explainTopology(flags);
  if (flags.settings) return settingsText(processEnvironment());
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

/// How many words of the command line are this command's own: in `rondo run` those from the first
/// "--" on are the program's, whatever they look like.
int countOwnWords(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "run") return argc;
  return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

/// @param afterDashes the first "--" and what follows it; may be empty
int runRunCommand(const CLI::App& command,
                  const run::RunFlags& flags,
                  std::span<char*> afterDashes) {
  std::vector<std::string> words = command.remaining();
  words.insert(words.end(), afterDashes.begin(), afterDashes.end());
  const Result<run::RunOptions> options = run::understand(flags, std::move(words));
  if (!options.ok()) return fail(options.status());
  const Result<int> code = run::runRanks(*options);
  return code.ok() ? *code : fail(code.status());
}

int runDoctorCommand(const CLI::App& command, const doctor::DoctorFlags& flags) {
  if (const Status status = refuseExtras(command); !status.ok()) return fail(status);
  const Result<bool> well = doctor::runDoctor(flags);
  if (!well.ok()) return fail(well.status());
  return toInt(*well ? ExitCode::kOk : ExitCode::kBadFound);
}

std::string versionText() {
  return fmt::format("rondo {}.{}.{}", RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH);
}

int runCommandLine(int argc, char** argv) {
  CLI::App app("Rondo, collective communication for machine learning.", "rondo");
  app.set_version_flag("--version", versionText());
  app.require_subcommand(1);

  perf::PerfFlags perfFlags;
  CLI::App* const perfCommand =
      app.add_subcommand("perf", "Measure and check operations over a sweep of sizes");
  perfCommand->allow_extras();
  perf::addPerfFlags(*perfCommand, perfFlags);

  tune::TuneFlags tuneFlags;
  CLI::App* const tuneCommand =
      app.add_subcommand("tune", "Measure all algorithms here and write a table for the planner");
  tuneCommand->allow_extras();
  tune::addTuneFlags(*tuneCommand, tuneFlags);

  run::RunFlags runFlags;
  CLI::App* const runCommand =
      app.add_subcommand("run", "Start a program as several ranks on this host");
  run::addRunFlags(*runCommand, runFlags);

  ExplainFlags explainFlags;
  CLI::App* const explainCommand =
      app.add_subcommand("explain", "Show the plan and the steps of a call, and why they are so");
  explainCommand->allow_extras();
  addExplainFlags(*explainCommand, explainFlags);

  doctor::DoctorFlags doctorFlags;
  CLI::App* const doctorCommand = app.add_subcommand(
      "doctor", "Say what this machine offers, what limits it, and what to do about it");
  doctorCommand->allow_extras();
  doctor::addDoctorFlags(*doctorCommand, doctorFlags);

  try {
    app.parse(countOwnWords(argc, argv), argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? code : toInt(ExitCode::kUsage);
  }
  const std::span words(argv, static_cast<std::size_t>(argc));
  if (perfCommand->parsed()) return runPerfCommand(*perfCommand, perfFlags, words);
  if (tuneCommand->parsed()) return runTuneCommand(*tuneCommand, tuneFlags, words);
  if (runCommand->parsed()) {
    return runRunCommand(*runCommand, runFlags,
                         words.subspan(static_cast<std::size_t>(countOwnWords(argc, argv))));
  }
  if (doctorCommand->parsed()) return runDoctorCommand(*doctorCommand, doctorFlags);
  return runExplainCommand(*explainCommand, explainFlags);
}

}  // namespace

}  // namespace rondo::cli

int main(int argc, char** argv) {
  try {
    return rondo::cli::runCommandLine(argc, argv);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "rondo: {}\n", exception.what());
    return static_cast<int>(rondo::cli::ExitCode::kFailure);
  }
}
