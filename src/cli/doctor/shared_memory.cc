#include "src/cli/doctor/shared_memory.h"

#include <algorithm>

#include "src/cli/doctor/process_limit.h"
#include "src/format.h"
#include "src/processors.h"
#include "src/size_text.h"
#include "transports/shm/shm_group.h"

namespace rondo::doctor {

namespace {

constexpr std::size_t kTriedBytes = std::size_t{2} << 20;

/// What stands in the way may be a limit that the shell can lift, or a sandbox.
std::string cureFor(const SharedMemoryFacts& facts) {
  if (facts.fileSizeBytes) return "ulimit -f unlimited";
  return "docker run --security-opt seccomp=unconfined ... if a sandbox forbids it; export "
         "RONDO_TRANSPORT=tcp on all ranks does without";
}

Finding failure(const SharedMemoryFacts& facts, const Status& status) {
  if (facts.replaced) {
    return warning(
        fmt::format("ranks of this host reach each other by slower ways: {}", status.message()),
        cureFor(facts));
  }
  return problem(fmt::format("RONDO_TRANSPORT leaves ranks of this host no other way, and {}",
                             status.message()),
                 cureFor(facts));
}

}  // namespace

SharedMemoryFacts readSharedMemory(const Config& config) {
  const int ranks = std::max(2, usableProcessors());
  constexpr std::size_t kSlotBytes = 65536;
  constexpr std::uint32_t kSlots = 4;
  SharedMemoryFacts facts;
  facts.fileSizeBytes = processLimit(RLIMIT_FSIZE);
  facts.wanted = config.allowsTransport("shm");
  facts.replaced = config.allowsTransport("tcp") || config.allowsTransport("verbs");
  Result<shm::Arena> arena =
      shm::ShmGroup::makeArena(ranks, kSlotBytes, kSlots, config.slotMemoryBytes);
  facts.arena = arena.status();
  if (!arena.ok()) return facts;
  facts.taken = arena->reserve(kTriedBytes, kTriedBytes);  // at a multiple of huge pages' size
  facts.hugeBytes = arena->hugePageBytes();
  return facts;
}

Findings examine(const SharedMemoryFacts& facts) {
  if (!facts.wanted) return {note("RONDO_TRANSPORT does without shared memory")};
  if (!facts.arena.ok()) return {failure(facts, facts.arena)};
  if (!facts.taken.ok()) return {failure(facts, facts.taken)};
  Findings findings = {
      ok("memory files (memfd) work; /dev/shm is not used, and its size does not matter")};
  if (facts.hugeBytes > 0) {
    findings.push_back(ok("shared memory comes in huge pages"));
  } else {
    findings.push_back(note(
        "shared memory comes in pages of 4 KiB: huge ones take Linux 6.1 with transparent huge "
        "pages (/sys/kernel/mm/transparent_hugepage/shmem_enabled not deny)"));
  }
  return findings;
}

}  // namespace rondo::doctor
