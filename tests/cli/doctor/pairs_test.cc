// What `rondo doctor` makes of measured pairs, and how it prints all it found.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/cli/doctor/pair_ranks.h"
#include "src/cli/doctor/report.h"
#include "tests/cli/doctor/made_up_machine.h"

namespace rondo::doctor {
namespace {

TEST(DoctorPairs, OneMuchSlowerThanTheOthersIsAWarning) {
  PairFacts facts = goodMachine().pairs;
  EXPECT_EQ(examine(facts), Findings{ok("3 ranks of this host reach each other by shm")});
  facts.speeds[1].latencyUs = 9;
  const Finding late = findingWith(examine(facts), "ranks 0 and 2 (shm) are much slower");
  EXPECT_EQ(late.severity, Severity::kWarning);
  EXPECT_NE(late.text.find("9.0 us and 9.00 GB/s, where half of all pairs have 1.1 us and 10.00"),
            std::string::npos)
      << late.text;
  EXPECT_TRUE(late.cure.starts_with("rondo explain --topology, then rondo run --bind share"));
  facts.speeds[1].latencyUs = 1;
  facts.speeds[2].bandwidthGBs = 2;
  EXPECT_EQ(findingWith(examine(facts), "ranks 1 and 2").severity, Severity::kWarning);
  facts.speeds.pop_back();  // two are not enough to say which is usual
  facts.speeds[1].latencyUs = 100;
  EXPECT_EQ(worst(examine(facts)), Severity::kOk);
}

TEST(DoctorPairs, TransportsAndSharedProcessorsAreTold) {
  PairFacts facts = goodMachine().pairs;
  facts.speeds[2].transport = "tcp";
  EXPECT_EQ(examine(facts).front(), ok("3 ranks of this host reach each other by shm, tcp"));
  EXPECT_NE(matrixText(facts).find("transport\n  rank  0    1    2\n"), std::string::npos);
  facts.processors = 2;
  facts.speeds[0].latencyUs = 1000;  // which may be noise then
  EXPECT_EQ(findingWith(examine(facts), "3 ranks share 2 processors").severity, Severity::kNote);
  EXPECT_EQ(worst(examine(facts)), Severity::kNote);
}

TEST(DoctorPairs, FailureIsAProblem) {
  PairFacts facts;
  facts.ranks = 2;
  facts.measured = Status::timeout("rank 1 did not come");
  EXPECT_EQ(examine(facts),
            Findings{problem("2 ranks could not be measured: rank 1 did not come",
                             "RONDO_LOG_LEVEL=info rondo perf all_reduce --ranks 2")});
  facts.whyNot = "pairs are not measured: reasons";
  EXPECT_EQ(examine(facts), Findings{note("pairs are not measured: reasons")});
}

TEST(DoctorPairs, TheUsualRanksAreTwoToFour) {
  EXPECT_EQ(usualRanks(1), 2);
  EXPECT_EQ(usualRanks(3), 3);
  EXPECT_EQ(usualRanks(64), 4);
}

TEST(DoctorReport, TextHasCuresAndMatrices) {
  MachineFacts facts = goodMachine();
  facts.limits.openFiles = 64;
  const std::string text = reportText(examine(facts), facts.pairs);
  EXPECT_NE(text.find("\nlimits\n  warning  a process may have 64 files and sockets open; each "
                      "connection over tcp and each link of the control plane is one\n"
                      "           do: ulimit -n 4096\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nlatency, us (all-reduce of 8 bytes)\n"
                      "  rank  0    1    2\n"
                      "  0     -    1.0  1.2\n"
                      "  1     1.0  -    1.1\n"
                      "  2     1.2  1.1  -\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\nproblems 0, warnings 1\n")) << text;
}

TEST(DoctorReport, JsonHoldsTheSame) {
  MachineFacts facts = goodMachine();
  facts.limits.openFiles = 64;
  facts.network.addresses.push_back(interfaceEntry("eth\xff", "10.0.0.6"));  // no UTF-8
  const std::vector<Section> sections = examine(facts);
  const auto json = nlohmann::json::parse(reportJson(sections, facts.pairs));
  std::size_t count = 0;
  for (const Section& section : sections)
    count += section.findings.size();
  EXPECT_EQ(json["findings"].size(), count);
  EXPECT_EQ(json["problems"], 0);
  EXPECT_EQ(json["warnings"], 1);
  for (const auto& finding : json["findings"])
    EXPECT_EQ(finding["cure"].is_null(), finding["severity"] == "ok") << finding;
  EXPECT_EQ(json["pairs"][1]["ranks"], (std::vector<int>{0, 2}));
  EXPECT_EQ(json["pairs"][1]["transport"], "shm");
  EXPECT_EQ(json["pairs"][1]["latency_us"], 1.2);
  EXPECT_EQ(json["pairs"][1]["bandwidth_gbs"], 9);
}

}  // namespace
}  // namespace rondo::doctor
