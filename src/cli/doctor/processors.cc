#include "src/cli/doctor/processors.h"

#include <algorithm>
#include <cmath>

#include <unistd.h>

#include "src/cli/machine.h"
#include "src/format.h"

namespace rondo::doctor {

ProcessorFacts readProcessors(const GroupLimits& limits) {
  return {cli::processorModel(), static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          allowedProcessors(), limits.processors};
}

Findings examine(const ProcessorFacts& facts) {
  const int allowed = facts.allowed.count();
  Findings findings = {
      ok(fmt::format("{} of {} processors may be used ({}), {}", allowed,
                     std::max(allowed, facts.ofMachine), facts.allowed.text(), facts.model))};
  if (allowed < facts.ofMachine) {
    findings.push_back(note(
        fmt::format("the affinity mask or the container's cpuset leaves out {} processors; ranks "
                    "are never placed on them (taskset -p $$ shows the mask)",
                    facts.ofMachine - allowed)));
  }
  if (allowed == 1) {
    findings.push_back(
        note("with one processor ranks take turns on it, and each hop costs a thread switch"));
  }
  if (facts.quota && *facts.quota < allowed) {
    findings.push_back(warning(
        fmt::format("the control group stops this process after {:.2f} processors' time of the {} "
                    "it may use; a rank that is stopped holds all others up",
                    *facts.quota, allowed),
        fmt::format("docker run --cpus {} ..., limits.cpu: {} (Kubernetes), or CPUQuota={}% "
                    "(systemd); or run no more than {} ranks here",
                    allowed, allowed, 100 * allowed,
                    std::max(1, static_cast<int>(std::floor(*facts.quota))))));
  }
  return findings;
}

}  // namespace rondo::doctor
