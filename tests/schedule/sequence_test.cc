// Calls of all kinds one after another, without barriers, over connections that persist: a rank may
// be calls ahead of another, and no call may take or leave a slot of its neighbours.
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/schedule/matrix.h"

namespace rondo::verifier {
namespace {

/// Draws calls from one seed.
class RandomCalls {
 public:
  explicit RandomCalls(std::uint64_t seed) : random_(seed) {}

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  std::size_t upTo(int high) { return static_cast<std::size_t>(between(0, high)); }

  /// @param maxMinSlots only algorithms that run with so many slots
  std::vector<Call> sequence(int ranks, int calls, int maxMinSlots) {
    std::vector<Call> sequence;
    while (static_cast<int>(sequence.size()) < calls) {
      const Call call = any(ranks);
      if (call.info().minSlots <= maxMinSlots) sequence.push_back(call);
    }
    return sequence;
  }

 private:
  Call any(int ranks) {
    Call call;
    call.algorithm = algorithmAt(upTo(static_cast<int>(kAlgorithmCount) - 1));
    call.root = between(0, ranks - 1);
    call.channel = between(0, 1);
    call.inPlace = between(0, 1) != 0;
    call.grain = between(0, 3) == 0 ? 2 : 1;
    const std::size_t leastChunk =
        call.info().name == "log_tree" ? static_cast<std::size_t>(ranks / 2) : 1;
    call.chunkElems = call.grain * (leastChunk + upTo(4));
    call.chunkElems = maxOf(call.chunkElems, call.grain);
    call.share = {upTo(3), between(0, 7) == 0 ? 0 : upTo(40)};
    call.bufferElems = call.share.offset + call.share.elems + upTo(3);
    return call;
  }

  std::mt19937_64 random_;
};

void verifySequences(std::uint64_t firstSeed, int count, int minRanks, int maxRanks, int calls) {
  for (std::uint64_t seed = firstSeed; seed < firstSeed + static_cast<std::uint64_t>(count);
       ++seed) {
    RandomCalls random(seed);
    const int ranks = random.between(minRanks, maxRanks);
    constexpr std::size_t kDepths[] = {1, 2, 3, 8};
    const std::size_t slots = kDepths[random.upTo(3)];
    const std::vector<Call> sequence = random.sequence(ranks, calls, static_cast<int>(slots));
    const Setup setup{.ranks = ranks,
                      .slots = slots,
                      .order = random.upTo(2) * (seed + 1),
                      .leavesPayloads = random.between(0, 1) != 0,
                      .laziest = random.between(-1, ranks - 1)};
    const Report report = verify(setup, sequence);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.text() << "\n  " << ranks
                             << " ranks, " << slots << " slots, "
                             << (report.violation->call < sequence.size()
                                     ? sequence[report.violation->call].text()
                                     : "");
  }
}

TEST(ScheduleSequence, FewRanks) {
  verifySequences(1, 3000, 1, 6, 12);
}

TEST(ScheduleSequence, SeveralRanks) {
  verifySequences(100001, 500, 7, 16, 16);
}

TEST(ScheduleSequence, ManyRanks) {
  verifySequences(200001, 40, 17, 64, 16);
}

/// The same algorithm again and again: nothing separates its calls but the slots themselves.
TEST(ScheduleSequence, EachAlgorithmRepeated) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const AlgorithmId algorithm = algorithmAt(row);
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::vector<Call> sequence;
      for (const int root : rootsToTry(algorithm, ranks)) {
        for (const Call& call : callsOfAllShapes(algorithm, ranks, root, root % 2 != 0))
          sequence.push_back(call);
      }
      const auto slots = static_cast<std::size_t>(algorithmInfo(algorithm).minSlots);
      const Report report = verify({.ranks = ranks, .slots = slots, .order = row}, sequence);
      ASSERT_TRUE(report.ok()) << algorithmTestName(algorithm) << ", " << ranks
                               << " ranks: " << report.text();
    }
  }
}

}  // namespace
}  // namespace rondo::verifier
