#include "tests/cli/doctor/made_up_machine.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rondo::doctor {

MachineFacts goodMachine() {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  MachineFacts facts;
  facts.processors = {"Test CPU", 8, ProcessorMask::range(0, 7), std::nullopt};
  facts.memory = {64 * kGiB, 60 * kGiB, std::nullopt, std::nullopt, std::size_t{32} << 20};
  facts.sharedMemory.hugeBytes = std::size_t{2} << 20;
  facts.limits = {1024, 4096, std::nullopt, std::nullopt};
  facts.kernel = {"6.1.0", true, true};
  facts.network.addresses = {interfaceEntry("eth0", "10.0.0.5")};
  facts.adapters.survey.usable = {"mlx5_0 port 1 (InfiniBand, LID 7)"};
  facts.adapters.slotBytes = facts.memory.slotBytes;
  facts.gpus.names = {"Test GPU", "Test GPU"};
  facts.gpus.hasKernels = true;
  facts.pairs.ranks = 3;
  facts.pairs.processors = 8;
  facts.pairs.speeds = {{0, 1, "shm", 1.0, 10}, {0, 2, "shm", 1.2, 9}, {1, 2, "shm", 1.1, 11}};
  return facts;
}

InterfaceAddress interfaceEntry(std::string name, const char* host) {
  const std::optional<SocketAddress> address = SocketAddress::parseHost(host);
  EXPECT_TRUE(address.has_value()) << host;
  return {.name = std::move(name), .address = address.value_or(SocketAddress{})};
}

Finding findingWith(const Findings& findings, std::string_view part) {
  const Finding* found = nullptr;
  int count = 0;
  std::string all;
  for (const Finding& finding : findings) {
    all += finding.text + "\n";
    if (finding.text.find(part) == std::string::npos) continue;
    found = &finding;
    ++count;
  }
  EXPECT_EQ(count, 1) << part << " in\n" << all;
  return found == nullptr ? Finding{} : *found;
}

Severity worst(const Findings& findings) {
  Severity worst = Severity::kOk;
  for (const Finding& finding : findings)
    worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace rondo::doctor
