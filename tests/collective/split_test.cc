// Splitting communicators: who goes where, and that parts work, whatever becomes of the whole.
// Field case L08. Runs over threads, and again over the transports between processes.

#include "src/split.h"

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

TEST(PlanSplit, OrdersByKeyAndThenByRank) {
  const std::array<SplitWish, 5> wishes = {{{0, 9}, {1, 0}, {0, 1}, {kNoColor, 0}, {1, 0}}};
  const auto part = [&](int rank) { return **planSplit(wishes, rank); };
  EXPECT_EQ(part(0).members, (std::vector<int>{2, 0}));
  EXPECT_EQ(part(0).rank, 1);
  EXPECT_EQ(part(2).rank, 0);
  EXPECT_EQ(part(1).members, (std::vector<int>{1, 4}));
  EXPECT_EQ(part(4).rank, 1);
  EXPECT_FALSE(planSplit(wishes, 3)->has_value());
}

TEST(PlanSplit, RefusesOtherNegativeColoursOnAllRanks) {
  const std::array<SplitWish, 2> wishes = {{{0, 0}, {-7, 0}}};
  for (const int rank : {0, 1}) {
    const Status status = planSplit(wishes, rank).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("color -7 of rank 1"), std::string_view::npos);
  }
}

/// What one rank got out of a split.
struct Outcome {
  rondoResult_t result = rondoInternalError;
  rondoComm_t comm = nullptr;
  std::string message;
};

std::vector<Outcome> splitAll(const Communicators& whole, const std::vector<SplitWish>& wishes) {
  std::vector<Outcome> outcomes(wishes.size());
  RankTeam::shared().run(
      whole.ranks(),
      [&](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        Outcome& outcome = outcomes[at];
        outcome.result =
            rondoCommSplit(whole[rank], wishes[at].color, wishes[at].key, &outcome.comm, nullptr);
        if (outcome.result != rondoSuccess) outcome.message = rondoGetLastError(whole[rank]);
      },
      [&] { whole.abort(); });
  return outcomes;
}

/// The sum of the parents' ranks + 1 over each part; every rank's, by old rank.
std::vector<float> sumParts(const std::vector<Outcome>& parts) {
  std::vector<float> sums(parts.size());
  RankTeam::shared().run(static_cast<int>(parts.size()), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (parts[at].comm == nullptr) return;
    const auto own = static_cast<float>(rank + 1);
    const rondoResult_t result =
        rondoAllReduce(&own, &sums[at], 1, rondoFloat32, rondoSum, parts[at].comm, nullptr);
    if (result != rondoSuccess) sums[at] = -1;
  });
  return sums;
}

int rankOf(const Outcome& part) {
  int rank = -1;
  EXPECT_EQ(rondoCommRank(part.comm, &rank), rondoSuccess);
  return rank;
}

void destroyAll(const std::vector<Outcome>& parts) {
  for (const Outcome& part : parts)
    EXPECT_EQ(rondoCommDestroy(part.comm), rondoSuccess);
}

CommunicatorSettings ofRanks(int ranks) {
  CommunicatorSettings settings;
  settings.ranks = ranks;
  settings.logLevel = "error";
  return settings;
}

TEST(Split, L08FiveRanksIntoTwoPartsAndOneOutside) {
  const Communicators whole(ofRanks(5));
  const std::vector<Outcome> parts =
      splitAll(whole, {{0, 9}, {1, 0}, {0, 1}, {RONDO_NO_COLOR, 0}, {1, 0}});
  for (const Outcome& part : parts)
    EXPECT_EQ(part.result, rondoSuccess) << part.message;
  EXPECT_EQ(parts[3].comm, nullptr);
  EXPECT_EQ(rankOf(parts[2]), 0);
  EXPECT_EQ(rankOf(parts[0]), 1);
  EXPECT_EQ(rankOf(parts[1]), 0);
  EXPECT_EQ(rankOf(parts[4]), 1);
  EXPECT_EQ(sumParts(parts), (std::vector<float>{4, 7, 4, 0, 7}));
  destroyAll(parts);
}

TEST(Split, L08ABadColourIsRefusedOnAllRanksAndTheWholeWorksOn) {
  const Communicators whole(ofRanks(3));
  for (const Outcome& part : splitAll(whole, {{0, 0}, {-7, 0}, {0, 0}})) {
    EXPECT_EQ(part.result, rondoInvalidArgument);
    EXPECT_NE(part.message.find("color -7 of rank 1"), std::string::npos) << part.message;
  }
  const std::vector<Outcome> parts = splitAll(whole, {{2, 0}, {2, 0}, {2, 0}});
  EXPECT_EQ(sumParts(parts), (std::vector<float>{6, 6, 6}));
  destroyAll(parts);
}

TEST(Split, L08NobodyHasAColour) {
  const Communicators whole(ofRanks(3));
  for (const Outcome& part : splitAll(whole, {{-1, 0}, {-1, 1}, {-1, 2}})) {
    EXPECT_EQ(part.result, rondoSuccess) << part.message;
    EXPECT_EQ(part.comm, nullptr);
  }
}

TEST(Split, L08PartsOfPartsOutliveTheWhole) {
  auto whole = std::make_unique<Communicators>(ofRanks(4));
  const std::vector<Outcome> halves = splitAll(*whole, {{0, 0}, {0, 0}, {1, 0}, {1, 0}});
  whole.reset();
  EXPECT_EQ(sumParts(halves), (std::vector<float>{3, 3, 7, 7}));
  std::vector<Outcome> ones(4);
  RankTeam::shared().run(4, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    ones[at].result = rondoCommSplit(halves[at].comm, rank % 2, 0, &ones[at].comm, nullptr);
  });
  destroyAll(halves);
  EXPECT_EQ(sumParts(ones), (std::vector<float>{1, 2, 3, 4}));
  destroyAll(ones);
}

TEST(Finalize, OnlyDestroyingMayFollow) {
  const Communicators whole(ofRanks(2));
  EXPECT_EQ(rondoCommFinalize(whole[0]), rondoSuccess);
  EXPECT_EQ(rondoBarrier(whole[0], nullptr), rondoInvalidUsage);
  EXPECT_EQ(rondoCommFinalize(whole[0]), rondoInvalidUsage);
  EXPECT_EQ(rondoBarrier(whole[1], nullptr), rondoPeerLost);
  EXPECT_NE(std::string(rondoGetLastError(whole[1])).find("rank 0"), std::string::npos);
}

}  // namespace
}  // namespace rondo::testing
