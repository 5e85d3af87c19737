// Every algorithm against every pair of circumstances (tests/collective/call_axes.h). To run one
// case again:  RONDOTEST_CASE=<number> collective_matrix_test
// RONDOTEST_SHARE=1/3 runs the second of three shares: where the matrix is run over one transport
// after the other, each gets its own.
// Those of algorithms of one name:  RONDOTEST_ONLY=<name> collective_matrix_test
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
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

/// What of a case its communicators depend on.
auto communicatorsOf(std::size_t number) {
  const Row& row = cases()[number];
  return std::tuple(row[kRanks], row[kAlgorithm], row[kReproducible], row[kChunk], row[kSlots],
                    row[kChannels]);
}

/// The share that RONDOTEST_SHARE="<which>/<of how many>" names of sorted cases; all without it.
/// Cases that share communicators stay together, and each kind of these is dealt to some share.
std::vector<std::size_t> shareOf(const std::vector<std::size_t>& numbers) {
  const char* const text = std::getenv("RONDOTEST_SHARE");  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr) return numbers;
  unsigned which = 0;
  unsigned shares = 0;
  const bool read = std::sscanf(text, "%u/%u", &which, &shares) == 2;  // NOLINT(cert-err34-c)
  if (!read || which >= shares) {
    ADD_FAILURE() << "RONDOTEST_SHARE=" << text << " is no share such as 0/3";
    return {};
  }
  std::minstd_rand random(kSeed % 1000);
  unsigned dealt = 0;
  std::vector<std::size_t> share;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i == 0 || communicatorsOf(numbers[i]) != communicatorsOf(numbers[i - 1]))
      dealt = static_cast<unsigned>(random() / 8 % shares);
    if (dealt == which) share.push_back(numbers[i]);
  }
  return share;
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
  std::ranges::stable_sort(numbers, {}, communicatorsOf);
  return shareOf(numbers);
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
  const std::vector<std::size_t> numbers = casesToRun();
  ASSERT_FALSE(numbers.empty());
  for (const std::size_t number : numbers) {
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
  std::cout << numbers.size() << " cases run, " << made << " communicators made\n";
  EXPECT_GT(made, 0U);
}

}  // namespace
}  // namespace rondo::testing
