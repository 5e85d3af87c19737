// Counts beyond 32 bits: on paper for all algorithms, and once for real.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/any_schedule.h"
#include "collectives/buffers.h"
#include "src/planner.h"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

constexpr std::size_t kTwoToThe31 = std::size_t{1} << 31;

/// Appends what `step` writes to the output.
void appendWrites(const Step& step, std::vector<Span>& writes) {
  if (step.to != Sink::kOutput || step.elems == 0) return;
  for (std::size_t row = 0; row < step.rows.count; ++row)
    writes.push_back({step.userRow(step.outputOffset, row), step.elems});
}

/// The output of `rank` must be written from end to end, each element once.
void expectWholeOutput(const Plan& plan, const PlanRequest& request, int ranks, int rank) {
  std::vector<Span> writes;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, ranks, rank, channel));
    for (std::size_t index = 0; index < schedule.size(); ++index)
      appendWrites(schedule.step(index), writes);
  }
  const std::size_t whole =
      request.count * outputBlocks(request.collective, {rank, ranks, request.root});
  std::ranges::sort(writes, {}, &Span::offset);
  std::size_t at = 0;
  for (const Span& write : writes) {
    ASSERT_EQ(write.offset, at);
    at += write.elems;
  }
  // A root of a broadcast may be content with its own input only if it copies it.
  ASSERT_EQ(at, whole);
}

TEST(HugeOnPaper, S01EveryElementIsWrittenOnceUpToTwoToThe40) {
  const PlanSettings settings;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    if (info.collective == Collective::kBarrier) continue;
    PlanSettings forced = settings;
    forced.rules = {{.algorithm = algorithmAt(row)}};
    for (const int ranks : {2, 3, 8}) {
      const PlanFacts facts{
          .ranks = ranks, .cpus = 2, .slotBytes = std::size_t{64} << 20, .slotCount = 4};
      for (const std::size_t count : {kTwoToThe31 + 17, (std::size_t{1} << 32) - 1,
                                      (std::size_t{1} << 36) + 1, std::size_t{1} << 40}) {
        const PlanRequest request{.collective = info.collective,
                                  .count = count,
                                  .type = DataType::kUint8,
                                  .op = ReduceOp::kSum,
                                  .root = hasRoot(info.collective) ? ranks - 1 : 0};
        const Result<Plan> plan = makePlan(request, facts, forced);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        for (const int rank : {0, ranks - 1}) {
          SCOPED_TRACE(std::string(collectiveName(info.collective)) + "/" + std::string(info.name) +
                       " count " + std::to_string(count));
          expectWholeOutput(*plan, request, ranks, rank);
        }
      }
    }
  }
}

std::size_t availableGiB() {
  std::ifstream meminfo("/proc/meminfo");
  std::string line;
  while (std::getline(meminfo, line)) {
    if (line.starts_with("MemAvailable:")) return std::stoul(line.substr(13)) >> 20;
  }
  return 0;
}

/// Memory that is not touched before it is used.
std::unique_ptr<std::uint8_t[]> rawMemory(std::size_t bytes) {
  return std::unique_ptr<std::uint8_t[]>(new std::uint8_t[bytes]);
}

class HugeInMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr std::size_t kNeededGiB = 6;
    if (availableGiB() < kNeededGiB) {
      GTEST_SKIP() << "needs " << kNeededGiB << " GiB, " << availableGiB() << " are available";
    }
  }

  static constexpr std::chrono::seconds kDeadline{240};
};

TEST_F(HugeInMemory, S01AllReduceOfMoreThanTwoToThe31Bytes) {
  constexpr std::size_t kCount = kTwoToThe31 + 17;
  const Communicators communicators({.ranks = 2});
  const auto body = [&](int rank) {
    const auto data = rawMemory(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      data[i] = static_cast<std::uint8_t>(i % 251);
    RankTeam::note("all_reduce of 2^31 + 17 bytes in place");
    ASSERT_EQ(rondoAllReduce(data.get(), data.get(), kCount, rondoUint8, rondoSum,
                             communicators[rank], nullptr),
              rondoSuccess);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      wrong += data[i] != static_cast<std::uint8_t>(2 * (i % 251)) ? 1U : 0U;
    EXPECT_EQ(wrong, 0U);
  };
  EXPECT_TRUE(RankTeam::shared().run(
      2, body, [&] { communicators.abort(); }, kDeadline));
}

TEST_F(HugeInMemory, S01AllGatherOfMoreThanTwoToThe31Bytes) {
  constexpr std::size_t kBlock = kTwoToThe31 / 2 + 9;
  const Communicators communicators({.ranks = 2});
  const auto value = [](std::size_t i, std::size_t rank) {
    return static_cast<std::uint8_t>(i % 251 + rank);
  };
  const auto body = [&](int rank) {
    const auto data = rawMemory(2 * kBlock);
    const auto own = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < kBlock; ++i)
      data[own * kBlock + i] = value(i, own);
    RankTeam::note("all_gather of 2 x (2^30 + 9) bytes in place");
    ASSERT_EQ(rondoAllGather(data.get() + own * kBlock, data.get(), kBlock, rondoUint8,
                             communicators[rank], nullptr),
              rondoSuccess);
    std::size_t wrong = 0;
    for (std::size_t from = 0; from < 2; ++from) {
      for (std::size_t i = 0; i < kBlock; ++i)
        wrong += data[from * kBlock + i] != value(i, from) ? 1U : 0U;
    }
    EXPECT_EQ(wrong, 0U);
  };
  EXPECT_TRUE(RankTeam::shared().run(
      2, body, [&] { communicators.abort(); }, kDeadline));
}

}  // namespace
}  // namespace rondo::testing
