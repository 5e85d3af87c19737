// Ranks that are processes and whose calls do not belong together, by the table that threads are
// tested with; and a rank that never calls.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/collective/mismatch_cases.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRanks = 3;
constexpr milliseconds kPromptly{10000};

class ProcessMismatch : public ::testing::TestWithParam<MismatchCase> {};

TEST_P(ProcessMismatch, EveryRankLearnsOfItPromptlyAndInBothWords) {
  for (int odd = 0; odd < kRanks; ++odd) {
    ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
      rondoComm_t comm = joinOrExit(kRanks, rank, id);
      if (rondoBarrier(comm, nullptr) != rondoSuccess) return 2;
      const Clock::time_point start = Clock::now();
      const MismatchCase& mismatch = GetParam();
      const rondoResult_t result = play(mismatch, rank == odd, comm);
      if (Clock::now() - start > kPromptly) return 3;
      return expectFailure(comm, result, rondoMismatch, {mismatch.mostText, mismatch.oddText});
    });
    processes.expectSuccess(milliseconds{20000});
  }
}

/// The first call of the table is number 2 here: ranks meet before the clock starts.
std::vector<MismatchCase> casesAfterABarrier() {
  std::vector<MismatchCase> cases = mismatchCases();
  for (MismatchCase& mismatch : cases) {
    for (std::string* text : {&mismatch.mostText, &mismatch.oddText}) {
      if (const std::size_t number = text->find("#1"); number != std::string::npos)
        text->replace(number, 2, "#2");
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         ProcessMismatch,
                         ::testing::ValuesIn(casesAfterABarrier()),
                         [](const auto& param) { return param.param.name; });

std::string textOf(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Sends this process's log to `file`.
void logTo(const std::filesystem::path& file) {
  (void)std::freopen(file.c_str(), "w", stderr);
}

int sumThatNeedsAnAbsentRank(rondoComm_t comm, const std::filesystem::path& log) {
  const Clock::time_point start = Clock::now();
  const rondoResult_t result = make({.count = 77}, comm);
  const auto took = Clock::now() - start;
  if (took < milliseconds{800} || took > milliseconds{800} + kPromptly) return 3;
  const std::string said = textOf(log);
  for (const char* word : {"warn", "rank 1, which has not called yet", "all_gather #1"}) {
    if (said.find(word) == std::string::npos) return 4;
  }
  return expectFailure(comm, result, rondoTimeout,
                       {"rank 1, which has not called yet", "all_gather #1", "count 77"});
}

TEST(ProcessAbsence, IsWarnedOfThenTimesOutByName) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rondo_absence_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    const std::filesystem::path log = folder / std::to_string(rank);
    logTo(log);
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.warningMs = 200;
    config.operationTimeoutMs = 800;
    config.initTimeoutMs = 20000;
    rondoComm_t comm = nullptr;
    if (rondoCommInitRank(&comm, kRanks, id, rank, &config) != rondoSuccess) return 100;
    if (make({.collective = Collective::kAllGather, .count = 8}, comm) != rondoSuccess) return 2;
    if (rank != 1) return sumThatNeedsAnAbsentRank(comm, log);
    std::this_thread::sleep_for(milliseconds{3000});
    return 0;
  });
  processes.expectSuccess(milliseconds{20000});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rondo::testing
