#include "src/cli/doctor/adapters.h"

#include <fstream>
#include <string>
#include <utility>

#include <linux/capability.h>

#include "src/cli/doctor/process_limit.h"
#include "src/format.h"
#include "src/size_text.h"

namespace rondo::doctor {

namespace {

/// Whether this process has the capability, by "CapEff:" of /proc/self/status.
bool hasCapability(unsigned number) {
  constexpr std::string_view kKey = "CapEff:";
  constexpr int kHexadecimal = 16;
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(kKey)) continue;
    return (std::stoull(line.substr(kKey.size()), nullptr, kHexadecimal) >> number & 1U) != 0;
  }
  return false;
}

Finding lockedMemory(const AdapterFacts& facts) {
  if (facts.locksAnyway || !facts.lockedBytes) return ok("any amount of memory may be locked");
  const std::string text =
      fmt::format("{} of memory may be locked (memlock)", formatSize(*facts.lockedBytes));
  if (facts.survey.usable.empty()) {
    return note(text + ", which only matters where there are adapters");
  }
  if (facts.slotBytes > 0 && *facts.lockedBytes >= facts.slotBytes) return ok(text);
  const std::string needed =
      facts.slotBytes == 0 ? "an unlimited amount" : formatSize(facts.slotBytes);
  return warning(fmt::format("{}; the slots of a rank, which adapters need locked, may take {} "
                             "(RONDO_SLOT_MEMORY_BYTES)",
                             text, needed),
                 "ulimit -l unlimited, LimitMEMLOCK=infinity (systemd), or docker run --ulimit "
                 "memlock=-1 ...");
}

Finding noPort(const AdapterFacts& facts, std::string text) {
  if (!facts.alone) return note(std::move(text));
  return problem(
      fmt::format("RONDO_TRANSPORT leaves ranks of other hosts no other way, and {}", text),
      "unset RONDO_TRANSPORT");
}

}  // namespace

AdapterFacts readAdapters(const Config& config) {
  AdapterFacts facts;
  facts.wanted = config.allowsTransport("verbs");
  facts.alone = !config.allowsTransport("tcp");
  facts.lockedBytes = processLimit(RLIMIT_MEMLOCK);
  facts.locksAnyway = hasCapability(CAP_IPC_LOCK);
  facts.slotBytes = config.slotMemoryBytes;
  if (!facts.wanted) return facts;
  Result<verbs::AdapterSurvey> survey = verbs::surveyAdapters(config.verbs);
  facts.searched = survey.status();
  if (survey.ok()) facts.survey = *std::move(survey);
  return facts;
}

Findings examine(const AdapterFacts& facts) {
  if (!facts.wanted) return {note("RONDO_TRANSPORT does without adapters")};
  Findings findings;
  if (facts.searched.code() == StatusCode::kInvalidArgument) {
    findings.push_back(problem(std::string(facts.searched.message()), "unset RONDO_IB_GID_INDEX"));
  } else if (!facts.searched.ok()) {
    findings.push_back(noPort(facts, std::string(facts.searched.message())));
  } else if (facts.survey.usable.empty()) {
    findings.push_back(noPort(facts, "no port of any adapter can be used"));
  }
  for (const std::string& port : facts.survey.usable)
    findings.push_back(ok(fmt::format("{} can be used", port)));
  for (const std::string& why : facts.survey.passedOver)
    findings.push_back(note(fmt::format("{} and is not used", why)));
  if (facts.survey.emulated) {
    findings.push_back(
        note("an adapter is emulated by software: its speed says nothing of real "
             "ones, and tcp may be faster"));
  }
  findings.push_back(lockedMemory(facts));
  return findings;
}

}  // namespace rondo::doctor
