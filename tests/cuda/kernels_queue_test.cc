// Operations that follow each other on the same ranks, under many schedules: what one leaves behind
// in slots, lines and counters must not disturb the next.
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "tests/cuda/device_checks.h"

namespace rondo::testing {
namespace {

using device::kProtocols;
using device::Protocol;
using emulator::Options;
using emulator::Schedule;

/// Random legal operations for the same ranks, of the types that mutants know.
class Draw {
 public:
  Draw(std::uint64_t seed, const DeviceShape& ranks) : random_(seed), ranks_(ranks) {}

  OperationShape operator()() {
    for (;;) {
      const OperationShape shape = any();
      if (legal(shape)) return shape;
    }
  }

  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  OperationShape any() {
    OperationShape shape;
    shape.algorithm = algorithmAt(below(kAlgorithmCount));
    shape.ranks = ranks_.ranks;
    shape.channels = 1 + static_cast<int>(below(3));
    shape.root = static_cast<int>(below(static_cast<std::size_t>(ranks_.ranks)));
    shape.count = below(4) == 0 ? below(8) : below(900);
    shape.type = below(3) == 0 ? DataType::kBfloat16 : DataType::kFloat32;
    shape.op = static_cast<ReduceOp>(below(kReduceOpCount));
    shape.protocol = kProtocols[below(std::size(kProtocols))];
    shape.slotBytes = ranks_.slotBytes;
    shape.slotCount = ranks_.slotCount;
    shape.inPlace = below(2) == 0;
    shape.shiftElems = below(3);
    return shape;
  }

  std::mt19937_64 random_;
  const DeviceShape& ranks_;
};

OperationShape ringShape(Protocol protocol, std::size_t count, const DeviceShape& ranks) {
  OperationShape shape;
  shape.algorithm = *findAlgorithm(Collective::kAllReduce, "ring");
  shape.ranks = ranks.ranks;
  shape.channels = 2;
  shape.count = count;
  shape.protocol = protocol;
  shape.slotBytes = ranks.slotBytes;
  shape.slotCount = ranks.slotCount;
  return shape;
}

/// Random, with torn packs in every other one.
Options randomOptions(std::uint64_t seed) {
  Options options;
  options.schedule = Schedule::kRandom;
  options.seed = seed;
  options.switchChance = seed % 3 == 0 ? 0.05 : 0.5;
  options.tearPacks = seed % 2 == 0;
  return options;
}

constexpr int kQueueLength = 24;

TEST(KernelQueue, MixedOperationsFollowEachOtherUnderRandomSchedules) {
  const std::uint64_t seeds = kThinning > 1 ? 3 : 40;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    DeviceShape ranks;
    ranks.ranks = 2 + static_cast<int>(seed % 4);
    ranks.slotBytes = 256;
    ranks.slotCount = 2 + static_cast<std::uint32_t>(seed % 3);
    ranks.oneLaunch = seed % 5 == 0;
    Draw draw(seed, ranks);
    Queue queue(ranks);
    for (int i = 0; i < kQueueLength; ++i)
      queue.add(draw());
    ASSERT_EQ(queue.run(randomOptions(seed)), "") << "queue of seed " << seed;
  }
}

TEST(KernelQueue, MixedOperationsFollowEachOtherInTurn) {
  const int ranksUpTo = kThinning > 1 ? 3 : 8;
  for (int count = 1; count <= ranksUpTo; ++count) {
    for (const bool oneLaunch : {false, true}) {
      DeviceShape ranks;
      ranks.ranks = count;
      ranks.slotBytes = 192;
      ranks.oneLaunch = oneLaunch;
      Draw draw(static_cast<std::uint64_t>(count), ranks);
      Queue queue(ranks);
      for (int i = 0; i < kQueueLength; ++i)
        queue.add(draw());
      ASSERT_EQ(queue.run({}), "") << count << " ranks";
    }
  }
}

TEST(KernelQueue, ReplaysGoOnWhereTheLastLaunchEnded) {
  DeviceShape ranks;
  ranks.ranks = 3;
  ranks.slotBytes = 128;
  ranks.slotCount = 3;
  Queue queue(ranks);
  for (int i = 0; i < 10; ++i) {
    queue.add(ringShape(kProtocols[i % 3], 200, ranks));
    ASSERT_EQ(queue.run(randomOptions(static_cast<std::uint64_t>(i + 1))), "") << i;
  }
}

// Positions.

constexpr std::uint64_t kMarks = 0xffffffffu;
constexpr std::uint64_t kRewrites = std::uint64_t{1} << 31;

TEST(KernelQueue, RunsAcrossThePeriodsOfMarksAndRewrites) {
  constexpr std::uint64_t kBefore = 5;
  const std::uint64_t starts[] = {0,
                                  (std::uint64_t{1} << 32) - kBefore,
                                  kMarks - kBefore,
                                  3 * kMarks - kBefore,
                                  kRewrites - kBefore,
                                  5 * kRewrites - kBefore,
                                  kMarks * kRewrites - kBefore};
  for (const std::uint64_t start : starts) {
    for (const std::uint32_t slots : {2u, 3u, 8u}) {
      DeviceShape ranks;
      ranks.ranks = 3;
      ranks.slotBytes = 128;
      ranks.slotCount = slots;
      ranks.firstPosition = start;
      Draw draw(start + slots, ranks);
      Queue queue(ranks);
      for (int i = 0; i < 8; ++i)
        queue.add(draw());
      for (const Protocol protocol : kProtocols)
        queue.add(ringShape(protocol, 400, ranks));
      ASSERT_EQ(queue.run(randomOptions(start + slots)), "")
          << "from position " << start << ", " << slots << " slots";
    }
  }
}

/// Fillings that a period of marks lies between have the same mark, and with three slots, since
/// three divides the period, the same slot. What the earlier one wrote lies there until then unless
/// others write as far, which short ones don't; only the rewrite between the two takes it away.
void expectOldLinesGone(Protocol protocol) {
  static_assert(kMarks % 3 == 0);
  constexpr std::uint64_t kEarly = 2 * kRewrites - 1000;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    DeviceShape ranks;
    ranks.ranks = 3;
    ranks.slotBytes = 256;
    ranks.slotCount = 3;
    Queue queue(ranks);
    // One channel: others have no part in short operations.
    OperationShape longRing = ringShape(protocol, 6 * 64, ranks);
    OperationShape shortRing = ringShape(protocol, 6, ranks);
    longRing.channels = shortRing.channels = 1;
    queue.add(longRing);  // makes the connections
    ASSERT_EQ(queue.run(randomOptions(seed)), "");

    protocol == Protocol::kLines ? queue.ranks().leaveLines(kEarly)
                                 : queue.ranks().leaveWideLines(kEarly);
    queue.ranks().jumpTo(2 * kRewrites - 2);
    for (int i = 0; i < 4; ++i)
      queue.add(shortRing);
    ASSERT_EQ(queue.run(randomOptions(seed)), "");

    queue.ranks().jumpTo(kEarly + kMarks);
    queue.delay(1, 200);
    queue.add(longRing);
    ASSERT_EQ(queue.run(randomOptions(seed)), "");
  }
}

TEST(KernelQueue, LinesOfAnEqualMarkAreGoneWhenItComesAgain) {
  expectOldLinesGone(Protocol::kLines);
}

TEST(KernelQueue, WideLinesOfAnEqualMarkAreGoneWhenItComesAgain) {
  expectOldLinesGone(Protocol::kWideLines);
}

/// Data of wide lines may look like marks of lines: here all of them look like those of the
/// fillings from `looksLike` on, in slots that lines use from filling 1000 on.
void expectWideLinesOverlooked(std::uint64_t looksLike, const std::vector<std::size_t>& counts) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    DeviceShape ranks;
    ranks.ranks = 3;
    ranks.slotBytes = 256;
    ranks.slotCount = 2 + static_cast<std::uint32_t>(seed % 2);
    Queue queue(ranks);
    OperationShape ring = ringShape(Protocol::kWideLines, 6 * 64, ranks);
    ring.channels = 1;
    queue.add(ring);  // makes the connections
    ASSERT_EQ(queue.run(randomOptions(seed)), "");

    queue.ranks().jumpTo(1000);
    queue.ranks().leaveWideLines(looksLike);
    ring.protocol = Protocol::kLines;
    for (const std::size_t count : counts) {
      ring.count = count;
      queue.add(ring);
      constexpr unsigned kLongerThanRewriting = 5000;
      queue.delay(1, kLongerThanRewriting);
      Options options = randomOptions(seed);
      options.idleRounds = kLongerThanRewriting;
      ASSERT_EQ(queue.run(options), "") << "seed " << seed;
    }
  }
}

TEST(KernelQueue, LinesAreNotTakenFromWideLinesBeforeThem) {
  expectWideLinesOverlooked(1000, {6 * 64});
}

/// What the first lines in a slot did not reach: a ring of 3 has 4 fillings.
TEST(KernelQueue, NothingOfWideLinesIsLeftBehindLines) {
  expectWideLinesOverlooked(1004, {6, 6 * 64});
}

/// What the promise of wide lines is worth: where a machine tears them, results are wrong.
TEST(KernelQueue, TornWideLinesAreNoticed) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DeviceShape ranks;
    ranks.ranks = 3;
    ranks.slotBytes = 256;
    Queue queue(ranks);
    for (int i = 0; i < 4; ++i)
      queue.add(ringShape(Protocol::kWideLines, 300, ranks));
    Options options = randomOptions(seed);
    options.tearLines = true;
    if (!queue.run(options).empty()) ++wrong;
  }
  EXPECT_GT(wrong, 0);
}

// Places.

TEST(KernelQueue, OneLaunchFitsPlacesForItsBlocks) {
  DeviceShape ranks;
  ranks.ranks = 4;
  ranks.slotBytes = 128;
  ranks.oneLaunch = true;
  Queue queue(ranks);
  for (int i = 0; i < 6; ++i)
    queue.add(ringShape(kProtocols[i % 3], 300, ranks));
  Options options = randomOptions(2);
  options.residentBlocks = 8;
  EXPECT_EQ(queue.run(options), "");
}

TEST(KernelQueue, TooFewPlacesAreReported) {
  for (const bool oneLaunch : {false, true}) {
    DeviceShape ranks;
    ranks.ranks = 4;  // of two blocks each
    ranks.oneLaunch = oneLaunch;
    Queue queue(ranks);
    queue.add(ringShape(Protocol::kStaged, 300, ranks));
    Options options;
    options.residentBlocks = 6;  // none for the last rank
    const std::string report = queue.run(options);
    EXPECT_NE(report.find("deadlock"), std::string::npos) << report;
    EXPECT_NE(report.find("blocks have not started, no place is free"), std::string::npos)
        << report;
    EXPECT_NE(report.find("6 resident blocks"), std::string::npos) << report;
  }
}

}  // namespace
}  // namespace rondo::testing
