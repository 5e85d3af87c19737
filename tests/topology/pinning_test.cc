// Who should run where.
#include "src/topology/pinning.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/topology/machines.h"

namespace rondo::testing {
namespace {

using Texts = std::vector<std::string>;

Texts divided(const Topology& topology, std::size_t parts) {
  return texts(divideProcessors(topology, topology.mask(), parts));
}

/// How many groups of a level are used by more than one part.
int sharedGroups(const Topology& topology,
                 const std::vector<ProcessorMask>& parts,
                 int Processor::*level) {
  std::set<int> shared;
  std::map<int, std::size_t> owner;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const Processor& processor : topology.processors) {
      if (!parts[part].contains(processor.os)) continue;
      const auto [at, isNew] = owner.try_emplace(processor.*level, part);
      if (!isNew && at->second != part) shared.insert(processor.*level);
    }
  }
  return static_cast<int>(shared.size());
}

TEST(BoundTo, WidensOrNarrowsTheShare) {
  // Two nodes of two cores of two threads.
  const Topology machine = gridMachine({.packages = 2, .caches = 1, .cores = 2, .threads = 2});
  const std::vector<ProcessorMask> shares = pinRanks(localRanks(machine, 3));
  ASSERT_EQ(texts(shares), (Texts{"0-1", "2-3", "4-7"}));
  const auto bound = [&](Binding binding) {
    std::vector<ProcessorMask> masks;
    for (const ProcessorMask& share : shares)
      masks.push_back(boundTo(machine, share, binding));
    return texts(masks);
  };
  EXPECT_EQ(bound(Binding::kNone), (Texts{"0-7", "0-7", "0-7"}));
  EXPECT_EQ(bound(Binding::kShare), texts(shares));
  EXPECT_EQ(bound(Binding::kNuma), (Texts{"0-3", "0-3", "4-7"}));
  EXPECT_EQ(bound(Binding::kCore), (Texts{"0-1", "2-3", "4-5"}));
}

TEST(BoundTo, NeverLeavesWhatMayBeUsed) {
  const Topology machine =
      restrictTo(gridMachine({.packages = 2, .caches = 1, .cores = 2, .threads = 2}),
                 ProcessorMask::parse("1,6"));
  EXPECT_EQ(boundTo(machine, ProcessorMask::parse("1"), Binding::kNuma).text(), "1");
  EXPECT_EQ(boundTo(machine, ProcessorMask::parse("6"), Binding::kCore).text(), "6");
}

TEST(DivideProcessors, OfTwoPackagesWithEightCachesEach) {
  const Topology epyc = gridMachine({.packages = 2, .caches = 8, .cores = 8});
  EXPECT_EQ(divided(epyc, 1), (Texts{"0-127"}));
  EXPECT_EQ(divided(epyc, 2), (Texts{"0-63", "64-127"}));
  EXPECT_EQ(divided(epyc, 3), (Texts{"0-31", "32-63", "64-127"}));
  EXPECT_EQ(divided(epyc, 4), (Texts{"0-31", "32-63", "64-95", "96-127"}));
  EXPECT_EQ(divided(epyc, 6), (Texts{"0-23", "24-47", "48-63", "64-87", "88-111", "112-127"}));
  EXPECT_EQ(divided(epyc, 16),
            (Texts{"0-7", "8-15", "16-23", "24-31", "32-39", "40-47", "48-55", "56-63", "64-71",
                   "72-79", "80-87", "88-95", "96-103", "104-111", "112-119", "120-127"}));
  EXPECT_EQ(divided(epyc, 17).at(0), "0-3");  // the first to be doubled up
  EXPECT_EQ(divided(epyc, 17).at(1), "4-7");
  EXPECT_EQ(divided(epyc, 17).at(2), "8-15");
}

TEST(DivideProcessors, SecondThreadsAreTheLastResort) {
  const Topology machine = gridMachine({.packages = 2, .cores = 2, .threads = 2});
  EXPECT_EQ(divided(machine, 4), (Texts{"0-1", "2-3", "4-5", "6-7"}));
  EXPECT_EQ(divided(machine, 5), (Texts{"0", "1", "2-3", "4-5", "6-7"}));
  EXPECT_EQ(divided(machine, 8), (Texts{"0", "1", "2", "3", "4", "5", "6", "7"}));
  EXPECT_EQ(divided(machine, 9), (Texts{"0", "0", "1", "2", "3", "4", "5", "6", "7"}));
}

TEST(DivideProcessors, OfASingleOne) {
  const Topology one = gridMachine({});
  EXPECT_EQ(divided(one, 1), (Texts{"0"}));
  EXPECT_EQ(divided(one, 3), (Texts{"0", "0", "0"}));
}

TEST(DivideProcessors, LopsidedSetsAreSharedByWeight) {
  // Six cores of the first package and two of the second.
  const Topology machine = restrictTo(gridMachine({.packages = 2, .caches = 2, .cores = 4}),
                                      ProcessorMask::parse("1-6,9,14"));
  EXPECT_EQ(divided(machine, 2), (Texts{"1-6", "9,14"}));
  EXPECT_EQ(divided(machine, 4), (Texts{"1-2", "3", "4-6", "9,14"}));
  EXPECT_EQ(divided(machine, 8), (Texts{"1", "2", "3", "4", "5", "6", "9", "14"}));
}

TEST(DivideProcessors, UsesOnlyWhatTheMaskAndTheMachineHave) {
  const Topology machine = gridMachine({.cores = 4});
  const auto parts = divideProcessors(machine, ProcessorMask::parse("2-9"), 2);
  EXPECT_EQ(texts(parts), (Texts{"2", "3"}));
  EXPECT_EQ(texts(divideProcessors(machine, ProcessorMask::parse("8"), 2)), (Texts{"", ""}));
}

TEST(DivideProcessors, SharesNoGroupWhereThereAreEnough) {
  for (const Grid& grid : {Grid{1, 1, 1, 4, 2}, Grid{2, 1, 2, 3, 2}, Grid{2, 2, 2, 2, 1},
                           Grid{3, 1, 1, 5, 1}, Grid{1, 4, 2, 1, 2}}) {
    const Topology machine = gridMachine(grid);
    const int caches = grid.packages * grid.nodes * grid.caches;
    for (int parts = 1; parts <= 2 * machine.mask().count(); ++parts) {
      const auto masks = divideProcessors(machine, machine.mask(), static_cast<std::size_t>(parts));
      const auto shared = [&](int Processor::*level) {
        return sharedGroups(machine, masks, level);
      };
      SCOPED_TRACE(fmt::format("{} for {} parts", describe(grid), parts));
      if (parts <= grid.packages) {
        EXPECT_EQ(shared(&Processor::package), 0);
      }
      if (parts <= caches) {
        EXPECT_EQ(shared(&Processor::l3), 0);
      }
      if (parts <= caches * grid.cores) {
        EXPECT_EQ(shared(&Processor::core), 0);
      }
      if (parts <= machine.mask().count()) {
        EXPECT_EQ(shared(&Processor::os), 0);
      }
    }
  }
}

TEST(DivideProcessors, OfAnySetUsesAllAndNothingElse) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Topology whole = gridMachine({2, 2, 2, 2, 2});
    ProcessorMask allowed;
    for (const Processor& processor : whole.processors) {
      if (random() % 3 == 0) allowed.add(processor.os);
    }
    if (allowed.empty()) continue;
    const Topology machine = restrictTo(whole, allowed);
    const auto parts = 1 + random() % 20;
    const auto masks = divideProcessors(machine, allowed, parts);
    ProcessorMask used;
    for (const ProcessorMask& mask : masks) {
      EXPECT_FALSE(mask.empty());
      used |= mask;
    }
    EXPECT_EQ(used, allowed);
    const std::size_t processors = machine.processors.size();
    if (parts <= processors) {
      EXPECT_EQ(sharedGroups(machine, masks, &Processor::os), 0);
    }
    std::set<int> cores;
    for (const Processor& processor : machine.processors)
      cores.insert(processor.core);
    if (parts <= cores.size()) {
      EXPECT_EQ(sharedGroups(machine, masks, &Processor::core), 0);
    }
  }
}

TEST(PinRanks, WithEqualRightsDivide) {
  const Topology machine = gridMachine({.packages = 2, .caches = 2, .cores = 2});
  const std::vector<LocalRank> ranks(4, {&machine});
  EXPECT_EQ(texts(pinRanks(ranks)), (Texts{"0-1", "2-3", "4-5", "6-7"}));
}

TEST(PinRanks, StayWithinWhatTheirLauncherGaveThem) {
  const Topology whole = gridMachine({.packages = 2, .caches = 2, .cores = 2});
  const Topology first = restrictTo(whole, ProcessorMask::parse("0-3"));
  const Topology last = restrictTo(whole, ProcessorMask::parse("7"));
  const std::vector<LocalRank> ranks = {{&last}, {&first}, {&last}, {&first}};
  EXPECT_EQ(texts(pinRanks(ranks)), (Texts{"7", "0-1", "7", "2-3"}));
}

TEST(PinRanks, StayNearTheirGpus) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  std::vector<LocalRank> ranks;
  for (const int gpu : {0, 4, 1, 5})
    ranks.push_back({&machine, gpu});
  EXPECT_EQ(texts(pinRanks(ranks)), (Texts{"0-3", "8-11", "4-7", "12-15"}));
  // May not run near its GPU: anywhere it may is better than nowhere.
  const Topology other = restrictTo(machine, ProcessorMask::parse("8-9"));
  EXPECT_EQ(texts(pinRanks(std::vector<LocalRank>{{&other, 0}})), (Texts{"8-9"}));
}

}  // namespace
}  // namespace rondo::testing
