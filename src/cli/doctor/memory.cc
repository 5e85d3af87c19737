#include "src/cli/doctor/memory.h"

#include "src/cli/doctor/process_limit.h"
#include "src/cli/machine.h"
#include "src/format.h"
#include "src/size_text.h"

namespace rondo::doctor {

namespace {

/// Program, libraries and what a rank maps of its host's shared memory, which is address space only
/// (64 MiB per rank of the host), for the 4 ranks of a small host.
constexpr std::size_t kAddressSpaceBytes = std::size_t{1} << 30;

}  // namespace

MemoryFacts readMemory(const GroupLimits& limits, const Config& config) {
  return {cli::totalMemoryBytes(), cli::availableMemoryBytes(), limits.memoryBytes,
          processLimit(RLIMIT_AS), config.slotMemoryBytes};
}

Findings examine(const MemoryFacts& facts) {
  const std::string available = formatSize(facts.availableBytes);
  Findings findings;
  if (facts.slotBytes > 0 && facts.availableBytes < facts.slotBytes) {
    findings.push_back(warning(
        fmt::format("{} of memory are available, less than the {} that the slots of each rank may "
                    "take (RONDO_SLOT_MEMORY_BYTES)",
                    available, formatSize(facts.slotBytes)),
        fmt::format("export RONDO_SLOT_MEMORY_BYTES={} on all ranks, or give the container more "
                    "(docker run --memory)",
                    facts.availableBytes / 2)));
  } else {
    findings.push_back(ok(facts.totalBytes == 0
                              ? fmt::format("{} of memory are available", available)
                              : fmt::format("{} of {} of memory are available", available,
                                            formatSize(facts.totalBytes))));
  }
  if (facts.groupBytes && (facts.totalBytes == 0 || *facts.groupBytes < facts.totalBytes)) {
    findings.push_back(
        note(fmt::format("the control group may use {} of memory; shared memory counts, too",
                         formatSize(*facts.groupBytes))));
  }
  if (facts.addressSpaceBytes && *facts.addressSpaceBytes < kAddressSpaceBytes) {
    findings.push_back(warning(
        fmt::format("this process may have {} of address space; each rank of a host takes 64 MiB "
                    "of it in all others",
                    formatSize(*facts.addressSpaceBytes)),
        "ulimit -v unlimited"));
  }
  return findings;
}

}  // namespace rondo::doctor
