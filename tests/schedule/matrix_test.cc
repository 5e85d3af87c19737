// Every row of the registry over 1 to 64 ranks, and beyond where that is cheap. Each row is a test
// of its own, so that CTest can run the rows side by side.
#include "tests/schedule/matrix.h"

#include <gtest/gtest.h>

namespace rondo::verifier {
namespace {

std::vector<AlgorithmId> allAlgorithms() {
  std::vector<AlgorithmId> all;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row)
    all.push_back(algorithmAt(row));
  return all;
}

class ScheduleMatrix : public testing::TestWithParam<AlgorithmId> {
 protected:
  static void verifyRanks(int first, int last) {
    for (int ranks = first; ranks <= last && !HasFailure(); ++ranks)
      verifyAllShapes(GetParam(), ranks);
  }
};

TEST_P(ScheduleMatrix, UpTo32Ranks) {
  verifyRanks(1, 32);
}

TEST_P(ScheduleMatrix, UpTo64Ranks) {
  verifyRanks(33, 64);
}

/// Powers of two and their neighbours: where trees and rings have their corners.
TEST_P(ScheduleMatrix, UpTo128Ranks) {
  for (const int ranks : {65, 127, 128}) {
    verifyAllShapes(GetParam(), ranks);
    if (HasFailure()) return;
  }
}

/// Whatever the order in which ranks run: what could change before it is read does, if its reader
/// waits as long as it can.
TEST_P(ScheduleMatrix, PayloadsLeftInBuffersStayUntilTheyAreRead) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    EXPECT_EQ(verifyLeftPayloads(GetParam(), ranks, false), "");
}

TEST_P(ScheduleMatrix, StoresOverSentInputExactlyWhereItSaysSo) {
  std::string failure;
  for (int ranks = 1; ranks <= 6 && failure.empty(); ++ranks)
    failure = verifyLeftPayloads(GetParam(), ranks, true);
  EXPECT_EQ(!failure.empty(), algorithmInfo(GetParam()).storesOverSentInput) << failure;
}

INSTANTIATE_TEST_SUITE_P(Registry,
                         ScheduleMatrix,
                         testing::ValuesIn(allAlgorithms()),
                         [](const testing::TestParamInfo<AlgorithmId>& tested) {
                           return algorithmTestName(tested.param);
                         });

}  // namespace
}  // namespace rondo::verifier
