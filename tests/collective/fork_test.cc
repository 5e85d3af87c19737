// Field test C08 with ranks that are threads: children that the program forks off neither use nor
// harm its communicators.

#include <atomic>

#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/forked_children.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 2;

/// Not the shared team: a child that ends by exit destroys what is static, and has no threads to
/// join.
int sumOnAllRanks(RankTeam& team, const Communicators& communicators) {
  std::atomic<int> wrong = 0;
  const auto body = [&](int rank) { wrong += sumExactly(communicators[rank], kRanks, rank); };
  EXPECT_TRUE(team.run(kRanks, body, [&] { communicators.abort(); }));
  return wrong;
}

TEST(Fork, ChildrenAreRefusedAndTheParentGoesOn) {
  const Communicators communicators(quietSettings(kRanks));
  RankTeam team(kRanks);
  EXPECT_EQ(sumOnAllRanks(team, communicators), 0);
  EXPECT_EQ(forkChildren(communicators[0]), 0);
  EXPECT_EQ(sumOnAllRanks(team, communicators), 0);
}

}  // namespace
}  // namespace rondo::testing
