// What `rondo doctor` makes of the environment's variables.

#include <gtest/gtest.h>

#include "tests/cli/doctor/made_up_machine.h"

namespace rondo::doctor {
namespace {

Findings of(Environment environment) {
  return examine(SettingFacts{std::move(environment), {}});
}

TEST(DoctorSettings, NoneIsFine) {
  EXPECT_EQ(of({{"HOME", "/root"}}).front(),
            ok("no RONDO_ variable is set: all is at its default"));
}

TEST(DoctorSettings, KnownUnknownAndInvalidOnes) {
  const Findings findings = of({{"RONDO_CHANNELS", "3"},
                                {"RONDO_CHANELS", "3"},
                                {"RONDO_FROBNICATE_ALL", "3"},
                                {"RONDO_PORT", ""},
                                {"RONDO_IB_RETRIES", "9"}});
  EXPECT_EQ(findingWith(findings, "RONDO_CHANNELS is set"), ok("RONDO_CHANNELS is set to 3"));
  EXPECT_EQ(findingWith(findings, "RONDO_CHANELS"),
            warning("RONDO_CHANELS is no setting of Rondo and is ignored; RONDO_CHANNELS may have "
                    "been meant",
                    "export RONDO_CHANNELS=\"$RONDO_CHANELS\"; unset RONDO_CHANELS"));
  EXPECT_EQ(findingWith(findings, "RONDO_FROBNICATE_ALL"),
            warning("RONDO_FROBNICATE_ALL is no setting of Rondo and is ignored",
                    "unset RONDO_FROBNICATE_ALL"));
  EXPECT_EQ(findingWith(findings, "RONDO_PORT"),
            note("RONDO_PORT is empty, which counts as not set"));
  EXPECT_EQ(findingWith(findings, "RONDO_IB_RETRIES"),
            problem("RONDO_IB_RETRIES value \"9\" is not accepted; it takes 0 to 7",
                    "unset RONDO_IB_RETRIES"));
}

TEST(DoctorSettings, EveryKnownOneIsJudgedByItself) {
  for (const Setting& setting : allSettings()) {
    if (setting.defaultText.empty()) continue;
    const std::string variable(setting.variable);
    EXPECT_EQ(findingWith(of({{variable, std::string(setting.defaultText)}}), variable).severity,
              Severity::kOk);
  }
}

TEST(DoctorSettings, SecretsAreNotShown) {
  const char* const secret = "correct horse battery";
  for (const Finding& finding : of({{"RONDO_SECRET", secret}}))
    EXPECT_EQ(finding.text.find(secret), std::string::npos) << finding.text;
  for (const Finding& finding : of({{"RONDO_SECRET", "short"}}))
    EXPECT_EQ(finding.text.find("short\""), std::string::npos) << finding.text;
}

TEST(DoctorSettings, WhoARankIsMustBeComplete) {
  EXPECT_EQ(worst(of({{"RONDO_RANK", "1"}})), Severity::kProblem);
  EXPECT_EQ(findingWith(of({{"RONDO_RANK", "1"}, {"RONDO_RANKS", "2"}, {"RONDO_ROOT", "a:4000"}}),
                        "rank 1 of 2")
                .severity,
            Severity::kNote);
}

TEST(DoctorSettings, RanksMustBeAbleToProveWhoTheyAre) {
  SettingFacts facts;
  facts.authentication = Status::notSupported("libsodium cannot be loaded");
  EXPECT_EQ(findingWith(examine(facts), "libsodium cannot"),
            problem("libsodium cannot be loaded",
                    "apt-get install libsodium23, or dnf install libsodium"));
  facts.authentication = Status::invalidArgument("RONDO_SECRET_FILE x has mode 0644");
  EXPECT_NE(findingWith(examine(facts), "mode 0644").cure.find("umask 077"), std::string::npos);
}

TEST(DoctorSettings, WhatIsNotAcceptedDoesNotHideTheRest) {
  const Config config = acceptedSettings({{"RONDO_CHANNELS", "99"}, {"RONDO_INTERFACE", "ib0"}});
  EXPECT_EQ(config.channels, 0);
  EXPECT_EQ(config.meeting.interfaces, "ib0");
}

}  // namespace
}  // namespace rondo::doctor
