#include "src/cli/explain/step_table.h"

#include <vector>

#include "src/cli/text_table.h"
#include "src/format.h"

namespace rondo::cli {

namespace {

constexpr int kMostPeers = 8;  // named in one cell

/// A schedule as it is, or as a stage of an operation.
struct Shown {
  AnySchedule schedule;
  std::span<const int> members{};  ///< empty: peers are ranks
  StepPlace place{};               ///< by default where the schedule has it

  Step step(std::size_t index) const { return place.placed(schedule.step(index)); }

  int recvPeer(int entry) const { return rankOf(schedule.recvPeer(entry)); }

  int sendPeer(int entry) const { return rankOf(schedule.sendPeer(entry)); }

 private:
  int rankOf(int peer) const {
    return members.empty() ? peer : members[static_cast<std::size_t>(peer)];
  }
};

std::string peersText(const Shown& schedule, PeerRange range, bool receives) {
  if (range.count == 0) return "-";
  std::string text;
  for (int at = 0; at < range.count && at < kMostPeers; ++at) {
    const int entry = range.first + at;
    text += fmt::format("{}{}", at == 0 ? "" : " ",
                        receives ? schedule.recvPeer(entry) : schedule.sendPeer(entry));
  }
  if (range.count > kMostPeers) text += fmt::format(" +{}", range.count - kMostPeers);
  return text;
}

std::string_view sourceText(Source source) {
  switch (source) {
    case Source::kInput:
      return "input";
    case Source::kOutput:
      return "output";
    case Source::kScratch:
      return "scratch";
    default:
      return "-";
  }
}

std::string_view sinkText(Sink sink) {
  switch (sink) {
    case Sink::kOutput:
      return "output";
    case Sink::kScratch:
      return "scratch";
    default:
      return "-";
  }
}

/// The fold: "r0 + own + r2", in its order; "copy" where there is one source.
std::string foldText(const Shown& schedule, const Step& step) {
  if (step.sources() == 0) return "-";
  if (step.sources() == 1) return "copy";
  std::vector<std::string> terms;
  for (int at = 0; at < step.recv.count; ++at)
    terms.push_back(fmt::format("r{}", schedule.recvPeer(step.recv.first + at)));
  if (step.own != Source::kNone) terms.insert(terms.begin() + step.ownPosition, "own");
  std::string text;
  for (std::size_t at = 0; at < terms.size(); ++at) {
    if (at == kMostPeers) return text + fmt::format(" and {} more", terms.size() - at);
    text += (at == 0 ? "" : ", ") + terms[at];
  }
  return text;
}

/// Where the elements lie: in the user's buffers if they are involved, else in scratch.
std::string elementsText(const Step& step) {
  if (step.elems == 0) return "none";
  const bool usesOutput = step.to == Sink::kOutput || step.own == Source::kOutput;
  const bool usesScratch = !usesOutput && step.own != Source::kInput &&
                           (step.own == Source::kScratch || step.to == Sink::kScratch);
  const std::size_t first = usesScratch  ? step.scratchOffset
                            : usesOutput ? step.outputOffset
                                         : step.inputOffset;
  std::string text = fmt::format("{}..{}", first, first + step.elems - 1);
  if (step.rows.count > 1) {
    text += fmt::format(" x {} rows, {} apart", step.rows.count,
                        usesScratch ? step.rows.scratchStride : step.rows.userStride);
  }
  return text;
}

std::string tableText(const Shown& schedule, int rank, std::size_t most) {
  TextTable table({"step", "waits for", "own", "folds", "stores to", "sends to", "elements", ""});
  for (std::size_t index = 0; index < schedule.schedule.size(); ++index) {
    const Step step = schedule.step(index);
    table.add({fmt::format("{}", index), peersText(schedule, step.recv, true),
               std::string(sourceText(step.own)), foldText(schedule, step),
               std::string(sinkText(step.to)), peersText(schedule, step.send, false),
               elementsText(step), step.last ? "complete" : ""});
  }
  return fmt::format("rank {}, {} steps\n", rank, schedule.schedule.size()) + table.text(most);
}

}  // namespace

std::string stepTableText(const AnySchedule& schedule, int rank, std::size_t most) {
  return tableText({schedule}, rank, most);
}

std::string stepTableText(const StageRun& run,
                          std::span<const int> members,
                          int rank,
                          std::size_t most) {
  return tableText({AnySchedule(run.algorithm, run.args), members, run.place}, rank, most);
}

}  // namespace rondo::cli
