#include "src/cli/explain/explain.h"

#include <algorithm>

#include "src/cli/explain/registry_list.h"
#include "src/cli/explain/stages_text.h"
#include "src/cli/explain/step_table.h"
#include "src/cli/explain/traffic.h"
#include "src/cli/text_table.h"
#include "src/size_text.h"

namespace rondo::cli {

namespace {

constexpr std::size_t kMostSteps = 18;      // of a rank, unless everything is wanted
constexpr std::size_t kMostCosts = 12;      // ranks
constexpr std::size_t kMostCandidates = 0;  // all
constexpr int kMostDrawnRanks = 256;
constexpr int kMostDrawnChannels = 2;

AnySchedule scheduleOf(const Plan& plan,
                       const ExplainRequest& request,
                       const PlanRequest& what,
                       int rank,
                       int channel) {
  return {plan.algorithm, scheduleArgs(plan, what, request.facts.ranks, rank, channel)};
}

std::string headText(const ExplainRequest& request) {
  const PlanRequest& what = request.plan;
  std::string text = std::string(collectiveName(what.collective));
  if (what.collective != Collective::kBarrier) {
    text += fmt::format(" of {}: count {}, {}", formatSize(request.bytes), what.count,
                        dataTypeName(what.type));
    if (isReduction(what.collective)) text += fmt::format(", {}", reduceOpName(what.op));
    if (hasRoot(what.collective)) text += fmt::format(", root {}", what.root);
  }
  text += fmt::format("; ranks {} on {} processors", request.facts.ranks, request.facts.cpus);
  if (request.facts.hosts != nullptr)
    text += fmt::format(" of {} hosts", request.facts.hosts->hosts());
  return text + "\n";
}

/// How often the schedule repeats what a single loop does; 0 where that is not a whole number.
std::size_t loopsOf(const Plan& plan, const ExplainRequest& request) {
  const PlanRequest single = singleLoop(plan, request.plan, request.facts.ranks);
  const std::size_t once = scheduleOf(plan, request, single, 0, 0).size();
  const std::size_t steps = scheduleOf(plan, request, request.plan, 0, 0).size();
  return once == 0 || steps % once != 0 ? 0 : steps / once;
}

/// "-" for what is not known.
std::string microsText(double micros) {
  return micros > 0 ? fmt::format("{:.1f}", micros) : "-";
}

std::string planText(const Plan& plan, const ExplainRequest& request) {
  const AlgorithmInfo& info = algorithmInfo(plan.algorithm);
  const PlanRequest& what = request.plan;
  std::string text = "\nplan\n";
  text += fmt::format("  algorithm  {}: {}\n", info.name, info.summary);
  text += fmt::format("  adds       {}\n", orderSentence(info.order, what.type, what.op));
  if (isTwoLevel(plan.algorithm)) {
    return text + stagesPlanText(plan, request) +
           fmt::format("  predicted  {:.1f} us\n", plan.predictedMicros);
  }
  text += fmt::format("  channels   {}\n", plan.channels);
  if (request.facts.workers > 1) {
    text += fmt::format("  workers    {} threads of each rank, which could have {}\n", plan.workers,
                        request.facts.workers);
  }
  text += fmt::format("  chunk      at most {} elements ({}) in one of {} slots of {}\n",
                      plan.chunkElems, formatSize(plan.chunkElems * elementBytes(what.type)),
                      request.facts.slotCount, formatSize(request.facts.slotBytes));
  const std::size_t loops = loopsOf(plan, request);
  if (loops > 0) text += fmt::format("  loops      {}\n", loops);
  text += fmt::format("  predicted  {} us\n", microsText(plan.predictedMicros));
  if (plan.measuredMicros > 0) {
    text += fmt::format("  measured   {} us, at the nearest size of the tuning table\n",
                        microsText(plan.measuredMicros));
  }
  if (plan.throughMailboxes) {
    text +=
        "  instead    where all ranks share the host's memory: each posts its message in its "
        "mailbox\n"
        "             and reads those of the others; one hop, added in rank order\n";
  }
  return text;
}

std::string candidatesText(const Plan& chosen, const ExplainRequest& request) {
  TextTable table({"", "algorithm", "predicted us", "measured us", "adds in", "remark"});
  for (const Candidate& candidate : planCandidates(request.plan, request.facts, request.settings)) {
    const AlgorithmInfo& info = algorithmInfo(candidate.algorithm);
    const bool taken = candidate.algorithm == chosen.algorithm;
    // The model's number is there for whatever is possible, asked for or not.
    table.add({taken ? "->" : "", std::string(info.name),
               microsText(candidate.plan.predictedMicros),
               microsText(candidate.plan.measuredMicros), std::string(orderName(info.order)),
               taken                ? "chosen"
               : candidate.eligible ? "slower"
                                    : candidate.reason});
  }
  return "\ncandidates\n" + table.text(kMostCandidates);
}

/// A rank's cost over all channels.
Cost rankCost(const Plan& plan, const ExplainRequest& request, int rank) {
  Cost total;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const Cost cost = scheduleOf(plan, request, request.plan, rank, channel).cost();
    total.steps += cost.steps;
    total.slotsSent += cost.slotsSent;
    total.elemsSent += cost.elemsSent;
    total.wideElemsSent += cost.wideElemsSent;
    total.hops = std::max(total.hops, cost.hops);
  }
  return total;
}

std::string costText(const Plan& plan, const ExplainRequest& request) {
  const PlanRequest& what = request.plan;
  TextTable table({"rank", "steps", "slots sent", "bytes sent", "hops"});
  for (int rank = 0; rank < request.facts.ranks; ++rank) {
    const Cost cost = rankCost(plan, request, rank);
    const std::size_t bytes = cost.elemsSent * elementBytes(what.type) +
                              cost.wideElemsSent * accumulatorBytes(what.type, what.op);
    table.add({fmt::format("{}", rank), fmt::format("{}", cost.steps),
               fmt::format("{}", cost.slotsSent), fmt::format("{}", bytes),
               fmt::format("{}", cost.hops)});
  }
  return "\ncost of each rank, all channels\n" + table.text(request.everything ? 0 : kMostCosts);
}

Result<std::string> picture(const Plan& plan, const ExplainRequest& request) {
  const int ranks = request.facts.ranks;
  if (ranks > kMostDrawnRanks && !request.everything) {
    return fmt::format("\nwho sends to whom: not drawn for more than {} ranks without --all\n",
                       kMostDrawnRanks);
  }
  const PlanRequest single = singleLoop(plan, request.plan, ranks);
  std::string text;
  const int channels = std::min(plan.channels, algorithmInfo(plan.algorithm).naturalChannels);
  for (int channel = 0; channel < std::min(channels, kMostDrawnChannels); ++channel) {
    const Result<std::vector<Message>> messages = messagesOf(plan, single, ranks, channel);
    RONDO_RETURN_IF_ERROR(messages.status());
    text += fmt::format("\nwho sends to whom in a loop, channel {}\n", channel);
    text += trafficText(*messages, request.everything);
  }
  return text;
}

std::string stepsText(const Plan& plan, const ExplainRequest& request) {
  std::string text =
      fmt::format("\nsteps on channel 0 of {} (rN: what rank N sent)\n", plan.channels);
  for (const int rank : request.shownRanks) {
    text += stepTableText(scheduleOf(plan, request, request.plan, rank, 0), rank,
                          request.everything ? 0 : kMostSteps);
  }
  const auto hidden = static_cast<std::size_t>(request.facts.ranks) - request.shownRanks.size();
  if (hidden > 0) text += fmt::format("{} more ranks: --rank R or --all\n", hidden);
  return text;
}

}  // namespace

Result<std::string> explain(const ExplainRequest& request) {
  const Result<Plan> plan = makePlan(request.plan, request.facts, request.settings);
  RONDO_RETURN_IF_ERROR(plan.status());
  if (isTwoLevel(plan->algorithm)) {
    return headText(request) + planText(*plan, request) + candidatesText(*plan, request) +
           stagesCostText(*plan, request, request.everything ? 0 : kMostCosts) +
           stagesStepsText(*plan, request, request.everything ? 0 : kMostSteps);
  }
  const Result<std::string> traffic = picture(*plan, request);
  RONDO_RETURN_IF_ERROR(traffic.status());
  return headText(request) + planText(*plan, request) + candidatesText(*plan, request) +
         costText(*plan, request) + *traffic + stepsText(*plan, request);
}

}  // namespace rondo::cli
