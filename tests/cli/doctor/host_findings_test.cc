// What `rondo doctor` makes of a host: processors, memory, limits, the kernel.

#include <gtest/gtest.h>

#include "tests/cli/doctor/made_up_machine.h"

namespace rondo::doctor {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A finding of that severity, with something to do if there is something to be done.
void expect(Severity severity,
            const Findings& findings,
            std::string_view text,
            std::string_view cure = {}) {
  const Finding finding = findingWith(findings, text);
  EXPECT_EQ(finding.severity, severity) << text;
  EXPECT_EQ(finding.cure.empty(), severity < Severity::kWarning) << text;
  EXPECT_NE(finding.cure.find(cure), std::string::npos) << finding.cure;
}

TEST(Doctor, AGoodMachineHasNothingButOk) {
  for (const Section& section : examine(goodMachine()))
    EXPECT_EQ(worst(section.findings), Severity::kOk) << section.area;
}

TEST(DoctorProcessors, AffinityAndTurnsAreNotes) {
  ProcessorFacts facts = goodMachine().processors;
  EXPECT_EQ(examine(facts), Findings{ok("8 of 8 processors may be used (0-7), Test CPU")});
  facts.allowed = ProcessorMask::range(2, 3);
  expect(Severity::kNote, examine(facts), "leaves out 6 processors");
  facts.allowed = ProcessorMask::range(2, 2);
  expect(Severity::kNote, examine(facts), "ranks take turns");
}

TEST(DoctorProcessors, AQuotaBelowTheProcessorsIsAWarning) {
  ProcessorFacts facts = goodMachine().processors;
  facts.quota = 8;
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
  facts.quota = 2.5;
  expect(Severity::kWarning, examine(facts), "after 2.50 processors' time of the 8",
         "no more than 2 ranks");
  facts.quota = 0.5;
  expect(Severity::kWarning, examine(facts), "after 0.50", "no more than 1 ranks");
}

TEST(DoctorMemory, MustHoldTheSlotsOfARank) {
  MemoryFacts facts = goodMachine().memory;
  facts.availableBytes = 16 * kMiB;
  expect(Severity::kWarning, examine(facts), "16 MiB of memory are available, less than the 32 MiB",
         "RONDO_SLOT_MEMORY_BYTES=8388608");
  facts.slotBytes = 0;  // no limit, so nothing to compare with
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
}

TEST(DoctorMemory, LimitsAreNamed) {
  MemoryFacts facts = goodMachine().memory;
  facts.groupBytes = 512 * kMiB;
  expect(Severity::kNote, examine(facts), "the control group may use 512 MiB");
  facts.groupBytes = facts.totalBytes;
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
  facts.addressSpaceBytes = 256 * kMiB;
  expect(Severity::kWarning, examine(facts), "256 MiB of address space", "ulimit -v unlimited");
}

TEST(DoctorSharedMemory, SaysWhetherItWorksAndThatDevShmDoesNotMatter) {
  SharedMemoryFacts facts = goodMachine().sharedMemory;
  expect(Severity::kOk, examine(facts), "/dev/shm is not used");
  facts.hugeBytes = 0;
  expect(Severity::kNote, examine(facts), "pages of 4 KiB");
  facts.taken = Status::outOfMemory("no room for 2097152 more bytes");
  expect(Severity::kWarning, examine(facts), "slower ways: no room", "RONDO_TRANSPORT=tcp");
  facts.arena = Status::outOfMemory("files larger than 100 bytes");
  facts.fileSizeBytes = 100;
  expect(Severity::kWarning, examine(facts), "files larger than 100", "ulimit -f unlimited");
  facts.replaced = false;
  expect(Severity::kProblem, examine(facts), "no other way, and files larger",
         "ulimit -f unlimited");
  facts.wanted = false;
  expect(Severity::kNote, examine(facts), "does without shared memory");
}

TEST(DoctorLimits, FewFilesAndFewProcessesAreWarnings) {
  LimitFacts facts = goodMachine().limits;
  facts.openFiles = 255;
  expect(Severity::kWarning, examine(facts), "255 files", "ulimit -n 4096");
  facts.openFilesMost.reset();
  expect(Severity::kWarning, examine(facts), "255 files", "ulimit -n unlimited");
  facts.openFiles.reset();
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
  facts.processes = 63;
  expect(Severity::kWarning, examine(facts), "the user may have 63", "ulimit -u");
  facts.processesLeft = 63;
  expect(Severity::kWarning, examine(facts), "the control group leaves room for 63",
         "--pids-limit");
}

TEST(DoctorKernel, CallsThatASandboxForbidsAreWarnings) {
  expect(Severity::kWarning, examine(KernelFacts{"4.4.0", false, true}),
         "Linux 4.4.0 gives no membarrier", "seccomp");
  expect(Severity::kWarning, examine(KernelFacts{"5.10.0", true, false}),
         "pidfd_open, which is in Linux 5.3", "seccomp");
}

}  // namespace
}  // namespace rondo::doctor
