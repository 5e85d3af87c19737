// In which order ranks stand on a ring.
#include "src/topology/ring_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "src/topology/pinning.h"
#include "tests/topology/machines.h"

namespace rondo::testing {
namespace {

using Order = std::vector<int>;

/// Hops by distance, the longest first, so that fewer long ones compare as less.
std::vector<int> longHops(const std::vector<RankHome>& homes, const Order& order) {
  const auto hops = ringHops(homes, order);
  return {hops.rbegin(), hops.rend()};
}

Order byRank(std::size_t ranks) {
  Order order(ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The least that any order can do.
std::vector<int> optimum(const std::vector<RankHome>& homes) {
  Order order = byRank(homes.size());
  std::vector<int> best = longHops(homes, order);
  while (std::next_permutation(order.begin() + 1, order.end()))  // the start does not matter
    best = std::min(best, longHops(homes, order));
  return best;
}

TEST(RingOrder, TakesRanksThatWereDealtOutOverHostsTogether) {
  std::vector<RankHome> homes;
  for (int rank = 0; rank < 6; ++rank)
    homes.push_back({.host = rank % 3});
  EXPECT_EQ(ringOrder(homes), (Order{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ringHops(homes, ringOrder(homes)), (std::array{3, 0, 0, 0, 0, 3}));
}

TEST(RingOrder, TakesPackagesAndCachesTogether) {
  const Topology machine = gridMachine({.packages = 2, .caches = 2, .cores = 2});
  std::vector<RankHome> homes;
  for (const int processor : {0, 4, 2, 6, 1, 5, 3, 7})  // as a launcher deals out by socket
    homes.push_back(homeOf(0, machine, ProcessorMask::range(processor, processor)));
  EXPECT_EQ(ringOrder(homes), (Order{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(ringHops(homes, ringOrder(homes)), (std::array{0, 4, 2, 0, 2, 0}));
}

TEST(RingOrder, KeepsRankOrderWhereThatIsAsGood) {
  const std::vector<RankHome> alike(5);
  EXPECT_EQ(ringOrder(alike), byRank(5));
  // Host 0 has the first and the last rank: they are neighbours on the ring.
  const std::vector<RankHome> wrapped = {{.host = 0}, {.host = 1}, {.host = 1}, {.host = 0}};
  EXPECT_EQ(ringOrder(wrapped), byRank(4));
  EXPECT_EQ(ringOrder(std::vector<RankHome>(1)), byRank(1));
  EXPECT_TRUE(ringOrder({}).empty());
}

TEST(RingOrder, OfRanksThatArePinnedAsSuggestedIsRankOrder) {
  const Topology machine = gridMachine({2, 2, 2, 4, 2});
  for (std::size_t ranks = 1; ranks <= 70; ++ranks) {
    const std::vector<LocalRank> locals(ranks, {&machine});
    std::vector<RankHome> homes;
    for (const ProcessorMask& mask : pinRanks(locals))
      homes.push_back(homeOf(0, machine, mask));
    EXPECT_EQ(ringOrder(homes), byRank(ranks)) << ranks;
  }
}

TEST(RingOrder, NoOrderIsShorter) {
  std::mt19937 random(11);
  const Topology machine = gridMachine({2, 2, 2, 1, 2});
  for (int round = 0; round < 120; ++round) {
    const auto hosts = 1 + random() % 3;
    std::vector<RankHome> homes;
    const std::size_t ranks = 1 + random() % 7;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const int processor = static_cast<int>(random() % machine.processors.size());
      homes.push_back(homeOf(static_cast<int>(random() % hosts), machine,
                             ProcessorMask::range(processor, processor)));
    }
    const Order order = ringOrder(homes);
    EXPECT_TRUE(std::ranges::is_permutation(order, byRank(ranks)));
    EXPECT_EQ(order, ringOrder(homes));
    EXPECT_EQ(longHops(homes, order), optimum(homes));
  }
}

TEST(RingOrder, TellsHostsWithEqualProcessorsApart) {
  const RankHome here{.host = 0, .package = 8, .core = 9};
  RankHome there = here;
  there.host = 1;
  EXPECT_EQ(distanceBetween(here, there), RankDistance::kOtherHost);
  EXPECT_EQ(distanceBetween(here, here), RankDistance::kSameCore);
}

TEST(HomeOf, IsWhereTheFirstProcessorLies) {
  const Topology machine = gridMachine({.packages = 2, .nodes = 2, .cores = 2});
  EXPECT_EQ(homeOf(3, machine, ProcessorMask::parse("5-7")), (RankHome{3, 4, 2, 4, 5}));
  EXPECT_EQ(homeOf(3, machine, {}), (RankHome{3, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace rondo::testing
