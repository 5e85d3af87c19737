#include "src/cli/doctor/doctor.h"

#include <vector>

#include <CLI/CLI.hpp>

#include "src/cli/doctor/machine_facts.h"
#include "src/cli/doctor/pair_ranks.h"
#include "src/cli/doctor/report.h"
#include "src/processors.h"

namespace rondo::doctor {

namespace {

/// More pairs than these have take minutes to measure.
constexpr int kMostRanks = 64;

}  // namespace

void addDoctorFlags(CLI::App& app, DoctorFlags& flags) {
  app.add_option("-n,--ranks", flags.ranks,
                 "Processes to start and to measure in pairs, 2 to 64, or 0 for none "
                 "[one on each\nprocessor, from 2 to 4]");
  app.add_flag("--json", flags.json, "Print a JSON document");
  app.add_option(kResultFlag, flags.resultFile)->group("");  // for the command itself
  app.footer(
      "Every finding is ok, a note, a warning (works, but slower or less than it could) or a "
      "problem\n(communicators, or calls, will fail); warnings and problems say what to do. Ends "
      "with 0 if there\nis no problem, with 1 if there is one.");
}

Result<bool> runDoctor(const DoctorFlags& flags) {
  if (!flags.resultFile.empty()) {
    RONDO_RETURN_IF_ERROR(measureAsRank(flags.resultFile));
    return true;
  }
  const int ranks = flags.ranks.value_or(usualRanks(usableProcessors()));
  if (ranks < 0 || ranks == 1 || ranks > kMostRanks) {
    return Status::invalidArgument("--ranks: {} is not from 2 to {}, or 0", ranks, kMostRanks);
  }
  const MachineFacts facts = readMachine(ranks);
  const std::vector<Section> sections = examine(facts);
  fmt::print("{}",
             flags.json ? reportJson(sections, facts.pairs) : reportText(sections, facts.pairs));
  return countFindings(sections, Severity::kProblem) == 0;
}

}  // namespace rondo::doctor
