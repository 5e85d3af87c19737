// Ranks that are processes: do they meet, and are their results right? A few tiny calls each.
#include <algorithm>
#include <iterator>

#include "src/cli/run/meeting.h"
#include "tests/gpu_check/child_process.h"
#include "tests/gpu_check/process_rank.h"
#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

namespace {

/// This program, once for each rank.
Result<std::vector<ChildEnd>> runRankProcesses(const Section& section, int ranks) {
  const Result<run::Meeting> meeting = run::makeMeeting();
  RONDO_RETURN_IF_ERROR(meeting.status());
  const std::vector<std::string> words = {ownPath(), std::string(kProcessRankFlag), "--patience",
                                          std::to_string(section.extent.patience.count())};
  std::vector<run::RankProgram> programs;
  for (int rank = 0; rank < ranks; ++rank) {
    programs.push_back(
        {.words = words,
         .variables = {{"RONDO_RANK", std::to_string(rank)},
                       {"RONDO_RANKS", std::to_string(ranks)},
                       {"RONDO_ROOT", meeting->root},
                       {"RONDO_SECRET_FILE", meeting->secretFile},
                       {"RONDO_DEVICE", std::to_string(section.gpus.ofRank(rank).ordinal)}},
         .processors = {}});
  }
  return runProcesses(programs, section.deadline);
}

Status outcomeOf(const std::vector<ChildEnd>& ends) {
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const ChildEnd& end = ends[rank];
    if (end.inTime && end.exitStatus == static_cast<int>(Verdict::kPassed)) continue;
    return Status::internal("rank {} {}: {}", rank, end.text(), end.lastLine());
  }
  return {};
}

/// All ranks say that there is nothing to be run here.
bool noneRan(const std::vector<ChildEnd>& ends) {
  return std::ranges::all_of(ends, [](const ChildEnd& end) {
    return end.exitStatus == static_cast<int>(Verdict::kNothingRun);
  });
}

}  // namespace

void checkProcesses(const Section& section) {
  section.report.expect(static_cast<int>(std::size(kRankCounts)));
  for (const int ranks : kRankCounts) {
    if (section.outOfTime()) return;
    const std::string text = fmt::format("{} ranks that are processes", ranks);
    section.report.doing(text);
    const Result<std::vector<ChildEnd>> ends = runRankProcesses(section, ranks);
    if (ends.ok() && noneRan(*ends)) {
      section.report.notRun(ends->front().lastLine());
      return;
    }
    const Status outcome = ends.ok() ? outcomeOf(*ends) : ends.status();
    section.report.check(outcome, text);
    if (!outcome.ok()) continue;
    const std::string way = ends->front().lastLine();
    section.report.row({{"ranks", ranks}, {"transport", way}}, fmt::format("{}: {}", text, way));
  }
}

}  // namespace rondo::gpucheck
