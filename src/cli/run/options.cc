#include "src/cli/run/options.h"

#include <array>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

namespace rondo::run {

namespace {

constexpr std::array<std::pair<std::string_view, Binding>, 4> kBindings = {{
    {"none", Binding::kNone},
    {"share", Binding::kShare},
    {"numa", Binding::kNuma},
    {"core", Binding::kCore},
}};

Result<Binding> findBinding(std::string_view name) {
  for (const auto& [known, binding] : kBindings)
    if (name == known) return binding;
  return Status::invalidArgument("--bind: {} is none of none, share, numa and core", name);
}

}  // namespace

void addRunFlags(CLI::App& app, RunFlags& flags) {
  app.add_option("-n,--ranks", flags.ranks, "Ranks, a process each [2]");
  app.add_flag("--no-prefix", flags.noPrefix, "Do not put [rank] before each line of output");
  app.add_option("--output", flags.outputFolder,
                 "Also write each rank's output to DIR/rank-K.log; makes the folder");
  app.add_option("--grace", flags.graceSeconds,
                 "Seconds from SIGTERM to SIGKILL when ranks are to end [5]");
  app.add_option("--bind", flags.bind,
                 "What each rank may run on: none (as this command), share (its part of the "
                 "processors,\nas rondo explain --topology shows it), numa (the nodes of its "
                 "share), core (the first\ncore of its share) [none]");
  app.add_flag("-v,--verbose", flags.verbose, "With --bind, say which rank runs where");
  app.footer(
      "Starts PROGRAM once per rank on this host. A program that calls "
      "rondoCommInitFromEnvironment "
      "finds\nthe others: RONDO_RANK, RONDO_RANKS and RONDO_ROOT are set, and RONDO_SECRET_FILE "
      "names a "
      "secret of\nthis run that is in memory only and goes with this command. Ranks other than 0 "
      "have no "
      "input.\n\n"
      "When a rank fails the others get SIGTERM, and SIGKILL after the grace; its exit code, or "
      "128 and "
      "the\nsignal that killed it, becomes that of this command. SIGINT, SIGTERM and SIGHUP are "
      "passed "
      "on.\n\n"
      "  rondo run -n 4 -- ./train --epochs 3\n"
      "  rondo run -n 2 --output logs -- python3 train.py");
  app.prefix_command();
}

Result<RunOptions> understand(const RunFlags& flags, std::vector<std::string> words) {
  constexpr int kMostRanks = 4096;
  constexpr double kMostGraceSeconds = 86400;
  if (flags.ranks < 1 || flags.ranks > kMostRanks) {
    return Status::invalidArgument("-n: {} is not from 1 to {}", flags.ranks, kMostRanks);
  }
  if (flags.graceSeconds < 0 || flags.graceSeconds > kMostGraceSeconds) {
    return Status::invalidArgument("--grace: {} is not from 0 to {}", flags.graceSeconds,
                                   kMostGraceSeconds);
  }
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) {
    return Status::invalidArgument("no program; write rondo run -n {} -- PROGRAM ARGUMENTS",
                                   flags.ranks);
  }
  if (words.front().starts_with('-')) {
    return Status::invalidArgument(
        "rondo run does not take {}; the program's own arguments come after it", words.front());
  }
  const Result<Binding> binding = findBinding(flags.bind);
  RONDO_RETURN_IF_ERROR(binding.status());
  RunOptions options;
  options.binding = *binding;
  options.verbose = flags.verbose;
  options.ranks = flags.ranks;
  options.words = std::move(words);
  options.prefix = !flags.noPrefix;
  options.outputFolder = flags.outputFolder;
  options.grace = std::chrono::milliseconds{static_cast<long>(flags.graceSeconds * 1000)};
  return options;
}

}  // namespace rondo::run
