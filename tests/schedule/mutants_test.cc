// The verifier must find each known bug, and name it.
#include "tests/schedule/mutants.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

namespace rondo::verifier {
namespace {

Setup correctSetup(const Mutant& mutant, std::size_t slots) {
  Setup setup;
  setup.ranks = mutant.ranks;
  setup.slots = slots;
  setup.order = mutant.order;
  setup.leavesPayloads = mutant.leavesPayloads;
  setup.laziest = mutant.laziest;
  return setup;
}

Setup faultySetup(const Mutant& mutant, std::size_t slots) {
  Setup setup = correctSetup(mutant, slots);
  setup.fault = mutant.fault;
  if (!mutant.edit) return setup;
  setup.make = [&mutant](AlgorithmId algorithm, const ScheduleArgs& args) {
    auto schedule = std::make_unique<RecordedSchedule>(*makeSchedule(algorithm, args));
    mutant.edit(*schedule, args);
    return schedule;
  };
  return setup;
}

class ScheduleMutant : public testing::TestWithParam<Mutant> {};

TEST_P(ScheduleMutant, IsCaughtAndNamed) {
  const Mutant& mutant = GetParam();
  for (const std::size_t slots : mutant.slots) {
    SCOPED_TRACE(joined(mutant.bug, ", ", slots, " slots: ", mutant.call.text()));
    const Report report = verify(faultySetup(mutant, slots), {&mutant.call, 1});
    ASSERT_FALSE(report.ok());
    const bool named =
        std::count(mutant.expected.begin(), mutant.expected.end(), report.violation->kind) > 0;
    EXPECT_TRUE(named) << report.text();
    EXPECT_FALSE(report.violation->cause.empty());
  }
}

/// Otherwise the bug would not be what was caught.
TEST_P(ScheduleMutant, IsCorrectWithoutTheBug) {
  const Mutant& mutant = GetParam();
  for (const std::size_t slots : mutant.slots) {
    const Report report = verify(correctSetup(mutant, slots), {&mutant.call, 1});
    EXPECT_TRUE(report.ok()) << report.text();
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         ScheduleMutant,
                         testing::ValuesIn(allMutants()),
                         [](const testing::TestParamInfo<Mutant>& tested) {
                           return tested.param.name;
                         });

}  // namespace
}  // namespace rondo::verifier
