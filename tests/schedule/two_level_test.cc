// Operations of two levels over many hosts, ranks per host and placements; and bugs that must be
// found and named.
#include <algorithm>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "tests/schedule/two_level_run.h"

namespace rondo::verifier {
namespace {

AlgorithmId between(Collective collective, std::string_view name) {
  return *findAlgorithm(collective, name);
}

std::vector<std::string_view> choices(Collective collective) {
  if (collective != Collective::kAllReduce) return {"direct"};
  return {"one_shot", "two_shot", "chain"};
}

/// Hosts of those sizes, ranks one behind the other.
std::vector<int> inBlocks(std::initializer_list<int> sizes) {
  std::vector<int> hosts;
  int host = 0;
  for (const int size : sizes)
    hosts.insert(hosts.end(), static_cast<std::size_t>(size), host++);
  return hosts;
}

std::vector<int> shuffled(std::vector<int> hosts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::shuffle(hosts.begin(), hosts.end(), random);
  return hosts;
}

std::vector<std::vector<int>> shapes() {
  std::vector<std::vector<int>> all = {inBlocks({1}),
                                       inBlocks({3}),
                                       inBlocks({1, 1}),
                                       inBlocks({2, 2}),
                                       inBlocks({4, 4}),
                                       inBlocks({2, 2, 2}),
                                       inBlocks({3, 3, 3, 3}),
                                       inBlocks({8, 8}),
                                       inBlocks({1, 1, 1, 1, 1}),
                                       inBlocks({1, 2}),
                                       inBlocks({2, 1}),
                                       inBlocks({3, 2, 4}),
                                       inBlocks({1, 7}),
                                       inBlocks({7, 1, 2}),
                                       {0, 1, 0, 1},
                                       {2, 0, 1, 2, 1, 0, 0, 1, 2},
                                       {5, 9, 9, 5, 9}};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    all.push_back(shuffled(inBlocks({3, 3, 3}), seed));
    all.push_back(shuffled(inBlocks({2, 5, 1, 3}), seed));
  }
  return all;
}

TwoLevelGeometry geometryOf(AlgorithmId choice, std::size_t piece, std::size_t chunk) {
  return {.between = choice,
          .pieceElems = piece,
          .insideChunk = chunk,
          .betweenChunk = 2 * chunk,
          .grain = chunk >= 4 ? std::size_t{4} : 1};
}

class TwoLevelProof : public testing::TestWithParam<Collective> {};

/// @returns the number of runs
std::size_t proveShape(Collective collective, const std::vector<int>& hosts) {
  std::size_t runs = 0;
  for (const std::string_view name : choices(collective)) {
    for (const std::size_t count : {0, 1, 2, 9, 37, 64}) {
      for (const auto& [piece, chunk] : {std::pair{1, 1}, {8, 4}, {24, 4}, {13, 1}, {64, 8}}) {
        TwoLevelCall call{collective, hosts, count,
                          geometryOf(between(collective, name), static_cast<std::size_t>(piece),
                                     static_cast<std::size_t>(chunk)),
                          runs % 2 == 1};
        TwoLevelSetup setup;
        setup.slots = runs % 3 == 0 ? 2 : runs % 3 == 1 ? 3 : 8;
        setup.order = runs % 4 == 0 ? 0 : runs;
        const Report report = verifyTwoLevel(call, setup);
        EXPECT_TRUE(report.ok()) << report.text() << "\n" << call.text();
        if (!report.ok()) return runs;
        ++runs;
      }
    }
  }
  return runs;
}

TEST_P(TwoLevelProof, EveryShapeSizeAndPlacement) {
  std::size_t runs = 0;
  for (const std::vector<int>& hosts : shapes()) {
    if (GetParam() != Collective::kAllReduce && !HostMap(hosts).even()) continue;
    runs += proveShape(GetParam(), hosts);
  }
  std::cout << runs << " runs\n";
  EXPECT_GT(runs, 100U);
}

INSTANTIATE_TEST_SUITE_P(All,
                         TwoLevelProof,
                         testing::Values(Collective::kAllReduce,
                                         Collective::kReduceScatter,
                                         Collective::kAllGather),
                         [](const testing::TestParamInfo<Collective>& param) {
                           return std::string(collectiveName(param.param));
                         });

struct TwoLevelMutant {
  std::string bug;
  TwoLevelCall call;
  TwoLevelSetup setup;
  std::vector<Failure> expected;
};

TwoLevelCall callOf(Collective collective, std::vector<int> hosts, bool inPlace = false) {
  const std::string_view name = collective == Collective::kAllReduce ? "two_shot" : "direct";
  return {collective, std::move(hosts), 96, geometryOf(between(collective, name), 8, 1), inPlace};
}

TwoLevelSetup edits(std::function<void(const TwoLevel&, int, StageRun&)> edit) {
  TwoLevelSetup setup;
  setup.editRun = std::move(edit);
  return setup;
}

TwoLevelSetup starts(std::function<bool(const TwoLevel&, int, std::size_t, bool)> mayStart) {
  TwoLevelSetup setup;
  setup.mayStart = std::move(mayStart);
  return setup;
}

std::vector<TwoLevelMutant> mutants() {
  const std::vector<int> even = inBlocks({3, 3});
  const Collective allReduce = Collective::kAllReduce;
  const Collective scatter = Collective::kReduceScatter;
  const Collective gather = Collective::kAllGather;
  std::vector<TwoLevelMutant> all;
  all.push_back({"a stage does not wait for the one before it",
                 callOf(allReduce, even),
                 starts([](auto&, int stage, auto, bool right) { return right || stage > 0; }),
                 {Failure::kUnwrittenRead}});
  all.push_back({"the same with blocks",
                 callOf(gather, even),
                 starts([](auto&, int stage, auto, bool right) { return right || stage > 0; }),
                 {Failure::kUnwrittenRead}});
  all.push_back({"ends the fold inside the host",
                 callOf(allReduce, inBlocks({2, 4})),
                 edits([](auto&, int stage, StageRun& run) {
                   if (stage == 0) run.place.completes = true;
                 }),
                 {Failure::kLastOnPartial}});
  all.push_back({"never ends the fold",
                 callOf(scatter, even),
                 edits([](auto&, int, StageRun& run) { run.place.completes = false; }),
                 {Failure::kLastMissing}});
  all.push_back({"stores its own part again",
                 callOf(allReduce, even),
                 edits([](auto&, int, StageRun& run) { run.place.inputIsInPlace = false; }),
                 {Failure::kDoubleWrite}});
  all.push_back({"reads its part elsewhere",
                 callOf(allReduce, even),
                 edits([](auto&, int stage, StageRun& run) {
                   if (stage == 1) run.place.inputOffset ^= 1;
                 }),
                 {Failure::kUnwrittenRead, Failure::kMixedElements, Failure::kWrongElement,
                  Failure::kOutOfRange}});
  TwoLevelSetup reversed = edits([](auto&, int stage, StageRun& run) {
    if (stage == 1) run.args.rank = run.args.ranks - 1 - run.args.rank;
  });
  reversed.editMembers = [](int stage, std::vector<int>& members) {
    if (stage == 1) std::ranges::reverse(members);
  };
  all.push_back(
      {"hosts in another order", callOf(allReduce, even), reversed, {Failure::kWrongOrder}});
  TwoLevelSetup shared;
  shared.oneChannel = true;
  all.push_back({"both stages inside a host on one channel",
                 callOf(allReduce, even),
                 shared,
                 {Failure::kMixedElements, Failure::kSlotLength, Failure::kDeadlock,
                  Failure::kWrongElement, Failure::kCountedTwice, Failure::kLastRepeated,
                  Failure::kWrongOrder, Failure::kIncomplete}});
  all.push_back({"one host cuts pieces otherwise",
                 callOf(gather, even),
                 edits([](const TwoLevel& operation, int, StageRun& run) {
                   if (operation.members(0).front() == 0) run.args.chunkElems = 2;
                 }),
                 {Failure::kSlotLength, Failure::kDeadlock}});
  return all;
}

/// Some show in some orders of execution only.
TEST(TwoLevelMutants, AreCaughtAndNamed) {
  constexpr std::uint64_t kOrders = 16;
  for (TwoLevelMutant mutant : mutants()) {
    SCOPED_TRACE(mutant.bug + ": " + mutant.call.text());
    std::size_t caught = 0;
    for (std::uint64_t order = 0; order < kOrders; ++order) {
      const Report right = verifyTwoLevel(mutant.call, {.slots = 2, .order = order});
      EXPECT_TRUE(right.ok()) << right.text();
      mutant.setup.order = order;
      const Report report = verifyTwoLevel(mutant.call, mutant.setup);
      if (report.ok()) continue;
      const bool named = std::ranges::count(mutant.expected, report.violation->kind) > 0;
      EXPECT_TRUE(named) << report.text();
      ++caught;
    }
    EXPECT_GT(caught, 0U);
  }
}

TEST(HostMap, NumbersHostsByTheirLowestRanks) {
  const HostMap hosts(std::vector<int>{7, 3, 3, 7, 9, 3});
  EXPECT_EQ(hosts.ranks(), 6);
  EXPECT_EQ(hosts.hosts(), 3);
  EXPECT_EQ(hosts.hostOf(3), 0);
  EXPECT_EQ(hosts.hostOf(4), 2);
  EXPECT_EQ(hosts.localIndex(5), 2);
  EXPECT_TRUE(std::ranges::equal(hosts.members(1), std::vector<int>{1, 2, 5}));
  EXPECT_EQ(hosts.fewest(), 1);
  EXPECT_EQ(hosts.most(), 3);
  EXPECT_FALSE(hosts.even());
}

}  // namespace
}  // namespace rondo::verifier
