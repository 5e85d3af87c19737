// What `rondo doctor` makes of network interfaces, adapters and GPUs.

#include <gtest/gtest.h>

#include "tests/cli/doctor/made_up_machine.h"

namespace rondo::doctor {
namespace {

TEST(DoctorNetwork, TellsWhatIsToldAndWhyNotTheRest) {
  NetworkFacts facts;
  facts.addresses = {interfaceEntry("lo", "127.0.0.1"),  interfaceEntry("docker0", "172.17.0.1"),
                     interfaceEntry("eth0", "10.0.0.5"), interfaceEntry("eth1", "10.1.0.5"),
                     interfaceEntry("eth2", "10.2.0.5"), interfaceEntry("eth3", "10.3.0.5")};
  facts.addresses.back().up = false;
  facts.routed = facts.addresses[3].address;
  const Findings findings = examine(facts);
  EXPECT_EQ(findings[0], ok("eth1 10.1.0.5 is told to others as choice 1"));
  EXPECT_EQ(findings[1], ok("eth0 10.0.0.5 is told to others as choice 2"));
  EXPECT_EQ(findings[2], ok("eth2 10.2.0.5 is told to others as choice 3"));
  EXPECT_EQ(findings[3], note("docker0 172.17.0.1 could be used but is not told to others: 3 "
                              "better ones are"));
  EXPECT_EQ(findings[4], note("lo 127.0.0.1 is not used: it is loopback, by which ranks of other "
                              "hosts would dial themselves"));
  EXPECT_EQ(findings[5], note("eth3 10.3.0.5 is not used: it is down"));
  EXPECT_EQ(findings.size(), 6U);
}

TEST(DoctorNetwork, LoopbackAloneIsAWarning) {
  NetworkFacts facts;
  facts.addresses = {interfaceEntry("lo", "127.0.0.1")};
  const Finding finding = findingWith(examine(facts), "only loopback can be used");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_NE(finding.cure.find("ip link set"), std::string::npos);
}

TEST(DoctorNetwork, APatternThatFitsNothingIsAProblem) {
  NetworkFacts facts = goodMachine().network;
  facts.pattern = "ib*";
  EXPECT_EQ(findingWith(examine(facts), "fits \"ib*\""),
            problem("no interface that is up and running fits \"ib*\"; this host has: 10.0.0.5 "
                    "(eth0)",
                    "unset RONDO_INTERFACE"));
  facts.addresses.clear();
  facts.pattern.clear();
  EXPECT_EQ(findingWith(examine(facts), "no usable network address").cure, "ip link set dev lo up");
}

TEST(DoctorNetwork, WhatTheUserAdvertisesComesFirst) {
  NetworkFacts facts = goodMachine().network;
  facts.advertised = "198.51.100.7";
  EXPECT_EQ(examine(facts).front(),
            note("RONDO_ADVERTISE tells others 198.51.100.7 instead of the addresses below"));
  facts.listed = Status::systemError("cannot list the network interfaces: Too many open files");
  EXPECT_EQ(worst(examine(facts)), Severity::kProblem);
}

TEST(DoctorAdapters, NoneIsANoteUnlessThereIsNoOtherWay) {
  AdapterFacts facts;
  facts.searched = Status::notSupported("this machine has no InfiniBand or RoCE adapter");
  EXPECT_EQ(findingWith(examine(facts), "no InfiniBand"), note("this machine has no InfiniBand or "
                                                               "RoCE adapter"));
  facts.alone = true;
  EXPECT_EQ(findingWith(examine(facts), "no InfiniBand"),
            problem("RONDO_TRANSPORT leaves ranks of other hosts no other way, and this machine "
                    "has no InfiniBand or RoCE adapter",
                    "unset RONDO_TRANSPORT"));
  facts.searched = Status::invalidArgument("RONDO_IB_GID_INDEX is 9, but ...");
  EXPECT_EQ(findingWith(examine(facts), "is 9"),
            problem("RONDO_IB_GID_INDEX is 9, but ...", "unset RONDO_IB_GID_INDEX"));
  facts.wanted = false;
  EXPECT_EQ(examine(facts), Findings{note("RONDO_TRANSPORT does without adapters")});
}

TEST(DoctorAdapters, EachPortIsUsedOrHasAReason) {
  AdapterFacts facts = goodMachine().adapters;
  facts.survey.passedOver = {"mlx5_1 port 1 is DOWN"};
  const Findings findings = examine(facts);
  EXPECT_EQ(findings[0], ok("mlx5_0 port 1 (InfiniBand, LID 7) can be used"));
  EXPECT_EQ(findings[1], note("mlx5_1 port 1 is DOWN and is not used"));
  facts.survey.emulated = true;
  EXPECT_EQ(findingWith(examine(facts), "emulated by software").severity, Severity::kNote);
  facts.survey.usable.clear();
  EXPECT_EQ(findingWith(examine(facts), "no port of any adapter can be used").severity,
            Severity::kNote);
}

TEST(DoctorAdapters, TheyNeedLockedMemory) {
  AdapterFacts facts = goodMachine().adapters;
  facts.lockedBytes = 65536;
  const Finding finding = findingWith(examine(facts), "64 KiB of memory may be locked (memlock);");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_NE(finding.text.find("may take 32 MiB"), std::string::npos) << finding.text;
  EXPECT_TRUE(finding.cure.starts_with("ulimit -l unlimited"));
  facts.lockedBytes = facts.slotBytes;
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
  facts.slotBytes = 0;
  EXPECT_EQ(findingWith(examine(facts), "an unlimited amount").severity, Severity::kWarning);
  facts.locksAnyway = true;
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
  facts.locksAnyway = false;
  facts.survey.usable.clear();
  EXPECT_EQ(findingWith(examine(facts), "only matters where").severity, Severity::kNote);
}

TEST(DoctorGpus, NoneIsANoteUnlessRanksAreToBeOnThem) {
  GpuFacts facts;
  facts.driver = Status::notSupported("there is no CUDA driver");
  EXPECT_EQ(examine(facts), Findings{note("there is no CUDA driver")});
  facts.wanted = true;
  EXPECT_EQ(
      findingWith(examine(facts), "RONDO_DEVICE puts ranks on devices, but there is no").severity,
      Severity::kProblem);
}

TEST(DoctorGpus, DevicesAreNamedAndCompared) {
  GpuFacts facts = goodMachine().gpus;
  EXPECT_EQ(examine(facts)[1], ok("CUDA device 1 is there (Test GPU)"));
  facts.apart = {{0, 1}};
  EXPECT_EQ(findingWith(examine(facts), "devices 0 and 1 cannot use each other's memory").severity,
            Severity::kNote);
  facts.wanted = true;
  facts.device = 1;
  EXPECT_EQ(worst(examine(facts)), Severity::kNote);
  facts.device = 2;
  EXPECT_EQ(findingWith(examine(facts), "RONDO_DEVICE is 2, but there are 2").severity,
            Severity::kProblem);
}

TEST(DoctorGpus, ABuildWithoutKernelsCannotUseThem) {
  GpuFacts facts = goodMachine().gpus;
  facts.hasKernels = false;
  EXPECT_EQ(findingWith(examine(facts), "no kernels").severity, Severity::kWarning);
  facts.wanted = true;
  EXPECT_EQ(findingWith(examine(facts), "no kernels").severity, Severity::kProblem);
}

}  // namespace
}  // namespace rondo::doctor
