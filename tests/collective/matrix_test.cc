// Every algorithm against every pair of circumstances (tests/collective/call_axes.h). To run one
// case again:  RONDOTEST_CASE=<number> collective_matrix_test
// or those of algorithms of one name:  RONDOTEST_ONLY=<name> collective_matrix_test
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/collective/call_axes.h"

namespace rondo::testing {
namespace {

constexpr std::uint64_t kSeed = 20240229;
constexpr std::size_t kMostCases = 20000;

const std::vector<Row>& cases() {
  static const std::vector<Row> rows = makeCoveringArray(callModel(), kSeed);
  return rows;
}

/// Numbers of the cases to run, those that share communicators next to each other.
std::vector<std::size_t> casesToRun() {
  const char* const only = std::getenv("RONDOTEST_CASE");  // NOLINT(concurrency-mt-unsafe)
  if (only != nullptr) return {static_cast<std::size_t>(std::atoll(only))};
  std::vector<std::size_t> numbers(cases().size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const char* const name = std::getenv("RONDOTEST_ONLY");  // NOLINT(concurrency-mt-unsafe)
  if (name != nullptr) {
    std::erase_if(numbers, [&](std::size_t number) {
      const auto row = static_cast<std::size_t>(cases()[number][kAlgorithm]);
      return algorithmInfo(algorithmAt(row)).name != name;
    });
  }
  const auto key = [](std::size_t number) {
    const Row& row = cases()[number];
    return std::tuple(row[kRanks], row[kAlgorithm], row[kReproducible], row[kChunk], row[kSlots],
                      row[kChannels]);
  };
  std::ranges::stable_sort(numbers, {}, key);
  return numbers;
}

TEST(CollectiveMatrix, CoversEveryLegalPair) {
  const Coverage pairs = measurePairs(callModel(), cases());
  const Coverage threes = measureSets(callModel(), cases());
  std::cout << cases().size() << " cases cover " << pairs.covered << " of " << pairs.possible
            << " pairs and " << threes.covered << " of " << threes.possible << " chosen threes\n";
  EXPECT_EQ(pairs.covered, pairs.possible);
  EXPECT_EQ(threes.covered, threes.possible);
  EXPECT_LE(cases().size(), kMostCases);
  for (const Row& row : cases())
    ASSERT_TRUE(isLegal(callModel(), row)) << describeRow(callModel(), row);
}

TEST(CollectiveMatrix, EveryCaseGivesThePromisedBits) {
  std::unique_ptr<Communicators> communicators;
  std::size_t failures = 0;
  std::size_t made = 0;
  for (const std::size_t number : casesToRun()) {
    const Row& row = cases().at(number);
    const CommunicatorSettings settings = settingsOf(row);
    if (communicators == nullptr || !(communicators->settings() == settings)) {
      communicators = std::make_unique<Communicators>(settings);
      ++made;
      ASSERT_EQ(communicators->ranks(), settings.ranks);
    }
    const CallSpec spec = callOf(row, *communicators, number);
    const std::string fault = runAndVerify(spec, *communicators);
    if (fault.empty()) continue;
    communicators.reset();
    ADD_FAILURE() << "case " << number << " (again: RONDOTEST_CASE=" << number
                  << "): " << describeRow(callModel(), row) << "\n  " << spec.text() << fault;
    if (++failures == 20) GTEST_FAIL() << "giving up after 20 failed cases";
  }
  std::cout << made << " communicators made\n";
  EXPECT_GT(made, 0U);
}

}  // namespace
}  // namespace rondo::testing
