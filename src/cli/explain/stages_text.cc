#include "src/cli/explain/stages_text.h"

#include "src/cli/explain/step_table.h"
#include "src/cli/text_table.h"
#include "src/size_text.h"

namespace rondo::cli {

namespace {

TwoLevel operationOf(const Plan& plan, const ExplainRequest& request, int rank) {
  return twoLevelOf(plan, request.plan, request.facts, rank);
}

std::string_view scopeText(StageScope scope) {
  return scope == StageScope::kInside ? "inside each host" : "between hosts";
}

std::string algorithmText(AlgorithmId id) {
  const AlgorithmInfo& info = algorithmInfo(id);
  return fmt::format("{} {}", info.name, collectiveName(info.collective));
}

std::string membersText(std::span<const int> members) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t at = 0; at < members.size() && at < kMost; ++at)
    text += fmt::format("{}{}", at == 0 ? "" : " ", members[at]);
  if (members.size() > kMost) text += fmt::format(" +{}", members.size() - kMost);
  return text;
}

}  // namespace

std::string stagesPlanText(const Plan& plan, const ExplainRequest& request) {
  const HostMap& hosts = *request.facts.hosts;
  const std::size_t elemBytes = elementBytes(request.plan.type);
  const TwoLevel operation = operationOf(plan, request, 0);
  std::string text =
      fmt::format("  hosts      {} with {}\n", hosts.hosts(),
                  hosts.even() ? fmt::format("{} ranks each", hosts.most())
                               : fmt::format("{} to {} ranks", hosts.fewest(), hosts.most()));
  text += fmt::format("  pieces     {} of at most {} elements ({}){}\n", operation.pieces(),
                      plan.twoLevel.pieceElems, formatSize(plan.twoLevel.pieceElems * elemBytes),
                      request.plan.collective == Collective::kAllReduce ? "" : " of each block");
  for (int stage = 0; stage < operation.stages() && operation.pieces() > 0; ++stage) {
    const StageRun run = operation.run(stage, 0);
    text += fmt::format("  stage {}    {}: {}, at most {} in a slot\n", stage + 1,
                        scopeText(operation.scope(stage)), algorithmText(run.algorithm),
                        formatSize(run.args.chunkElems * elemBytes));
  }
  return text;
}

std::string stagesCostText(const Plan& plan, const ExplainRequest& request, std::size_t most) {
  const PlanRequest& what = request.plan;
  TextTable table({"rank", "stage", "among ranks", "runs", "steps", "slots sent", "bytes sent"});
  for (int rank = 0; rank < request.facts.ranks; ++rank) {
    const TwoLevel operation = operationOf(plan, request, rank);
    for (int stage = 0; stage < operation.stages(); ++stage) {
      Cost total;
      for (std::size_t index = 0; index < operation.runs(stage); ++index) {
        const StageRun run = operation.run(stage, index);
        const Cost cost = AnySchedule(run.algorithm, run.args).cost();
        total.steps += cost.steps;
        total.slotsSent += cost.slotsSent;
        total.elemsSent += cost.elemsSent;
        total.wideElemsSent += cost.wideElemsSent;
      }
      const std::size_t bytes = total.elemsSent * elementBytes(what.type) +
                                total.wideElemsSent * accumulatorBytes(what.type, what.op);
      table.add({fmt::format("{}", rank), fmt::format("{}", stage + 1),
                 membersText(operation.members(stage)), fmt::format("{}", operation.runs(stage)),
                 fmt::format("{}", total.steps), fmt::format("{}", total.slotsSent),
                 fmt::format("{}", bytes)});
    }
  }
  return "\ncost of each rank by stage, all pieces\n" + table.text(most);
}

std::string stagesStepsText(const Plan& plan, const ExplainRequest& request, std::size_t most) {
  std::string text = "\nsteps of the first run of each stage (rN: what rank N sent)\n";
  for (const int rank : request.shownRanks) {
    const TwoLevel operation = operationOf(plan, request, rank);
    for (int stage = 0; stage < operation.stages(); ++stage) {
      if (operation.runs(stage) == 0) continue;
      text += fmt::format("stage {}, ", stage + 1);
      text += stepTableText(operation.run(stage, 0), operation.members(stage), rank, most);
    }
  }
  const auto hidden = static_cast<std::size_t>(request.facts.ranks) - request.shownRanks.size();
  if (hidden > 0) text += fmt::format("{} more ranks: --rank R or --all\n", hidden);
  return text;
}

}  // namespace rondo::cli
