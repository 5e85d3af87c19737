#include "src/explanation.h"

#include <algorithm>

#include "src/format.h"

namespace rondo {

namespace {

std::string_view protocolName(const Plan& plan, bool onDevice) {
  if (!onDevice) return plan.throughMailboxes ? "mailboxes" : "slots";
  switch (plan.protocol) {
    case device::Protocol::kStaged:
      return "slots";
    case device::Protocol::kLines:
      return "lines";
    case device::Protocol::kWideLines:
      return "wide_lines";
  }
  return "unknown";
}

double microsOf(const Plan& plan, bool measured) {
  return measured ? plan.measuredMicros : plan.predictedMicros;
}

std::string reasonFor(const PlanRequest& request,
                      const Plan& plan,
                      const PlanFacts& facts,
                      const PlanSettings& settings,
                      std::span<const Candidate> candidates) {
  if (plan.throughMailboxes) return "small enough for mailboxes, which take one hop";
  const std::size_t bytes = callBytes(request, facts.ranks);
  if (findPlanRule(settings.rules, request.collective, bytes) != nullptr)
    return "asked for by name";
  const bool measured = plan.measuredMicros > 0;
  const Candidate* next = nullptr;
  std::size_t eligible = 0;
  for (const Candidate& candidate : candidates) {
    // Where something was measured, what was not is left out.
    if (!candidate.eligible) continue;
    if (measured && candidate.plan.measuredMicros == 0) continue;
    ++eligible;
    if (candidate.algorithm == plan.algorithm) continue;
    if (next == nullptr || microsOf(candidate.plan, measured) < microsOf(next->plan, measured))
      next = &candidate;
  }
  if (next != nullptr) {
    return fmt::format("fastest of {} by {}; next: {} with {:.1f} us", eligible,
                       measured ? "measurement" : "prediction", algorithmInfo(next->algorithm).name,
                       microsOf(next->plan, measured));
  }
  if (measured) return "the only one that was measured";
  const auto barred =
      std::ranges::find_if(candidates, [](const Candidate& other) { return !other.eligible; });
  if (barred == candidates.end()) return "the only algorithm";
  return fmt::format("the only one that may be used; {} {}", algorithmInfo(barred->algorithm).name,
                     barred->reason);
}

}  // namespace

Explanation explainPlan(const PlanRequest& request,
                        const Plan& plan,
                        const PlanFacts& facts,
                        const PlanSettings& settings,
                        std::span<const Candidate> candidates,
                        std::span<const std::string_view> transports,
                        bool onDevice) {
  Explanation explanation;
  explanation.algorithm = algorithmInfo(plan.algorithm).name;
  explanation.protocol = protocolName(plan, onDevice);
  explanation.channels = plan.channels;
  explanation.chunkBytes = plan.chunkElems * elementBytes(request.type);
  explanation.predictedMicros = plan.predictedMicros;
  for (const std::string_view transport : transports)
    explanation.transports +=
        fmt::format("{}{}", explanation.transports.empty() ? "" : ", ", transport);
  explanation.why = reasonFor(request, plan, facts, settings, candidates);
  return explanation;
}

}  // namespace rondo
