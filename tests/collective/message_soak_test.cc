// Random sparse groups of messages, some with a collective among them, one after another: every
// rank makes its part from the same draw, and checks what it got.
//
// RONDOTEST_SEED and RONDOTEST_SOAK_S choose the first draw and how long it goes on.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/rank_team.h"
#include "tests/collective/test_inputs.h"
#include "tests/schedule/sparse_group.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGroupsPerBatch = 20;

std::uint64_t numberFrom(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What element `at` of a message is.
std::uint32_t elementOf(std::uint64_t seed, std::size_t message, std::size_t at) {
  return static_cast<std::uint32_t>(scramble(seed + message) + 2654435761U * at);
}

/// One group as all ranks draw it.
struct Draw {
  std::uint64_t seed = 0;
  std::vector<SparseMessage> messages;
  bool withCollective = false;
};

Draw drawGroup(std::uint64_t seed, int ranks) {
  SparseGroups random(seed);
  Draw draw{seed, {}, random.upTo(2) == 0};
  // Elements of 4 bytes; slots hold 16384, or 16 where they are small.
  draw.messages = random.next(ranks, random.upTo(3) == 0 ? 120000 : 500);
  return draw;
}

/// One rank's part of a group: buffers of their own for all of its messages.
class RankPart {
 public:
  RankPart(const Draw& draw, int rank) : draw_(draw), rank_(rank), sum_(100, 1) {
    for (std::size_t message = 0; message < draw.messages.size(); ++message) {
      const SparseMessage& one = draw.messages[message];
      out_.emplace_back(one.from == rank ? one.elems : 0);
      in_.emplace_back(one.to == rank ? one.elems : 0);
      for (std::size_t at = 0; at < out_.back().size(); ++at)
        out_.back()[at] = elementOf(draw.seed, message, at);
    }
  }

  /// @return the group's outcome
  rondoResult_t call(rondoComm_t comm) {
    (void)rondoGroupStart();
    for (std::size_t message = 0; message < draw_.messages.size(); ++message) {
      const SparseMessage& one = draw_.messages[message];
      if (message == draw_.messages.size() / 2 && draw_.withCollective) {
        (void)rondoAllReduce(sum_.data(), sum_.data(), sum_.size(), rondoUint32, rondoSum, comm,
                             nullptr);
      }
      if (one.from == rank_)
        (void)rondoSend(out_[message].data(), one.elems, rondoUint32, one.to, comm, nullptr);
      if (one.to == rank_)
        (void)rondoRecv(in_[message].data(), one.elems, rondoUint32, one.from, comm, nullptr);
    }
    return rondoGroupEnd();
  }

  /// Messages of this rank that are not what was sent.
  std::size_t wrong() const {
    std::size_t wrong = 0;
    for (std::size_t message = 0; message < in_.size(); ++message) {
      for (std::size_t at = 0; at < in_[message].size(); ++at) {
        if (in_[message][at] == elementOf(draw_.seed, message, at)) continue;
        ++wrong;
        break;
      }
    }
    return wrong;
  }

 private:
  const Draw& draw_;
  int rank_;
  std::vector<std::uint32_t> sum_;
  std::vector<std::vector<std::uint32_t>> out_;  // by message
  std::vector<std::vector<std::uint32_t>> in_;
};

void playBatch(const Communicators& communicators, std::uint64_t seed) {
  const int ranks = communicators.ranks();
  const auto body = [&](int rank) {
    for (std::uint64_t group = seed; group < seed + kGroupsPerBatch; ++group) {
      const Draw draw = drawGroup(group, ranks);
      RankPart part(draw, rank);
      RankTeam::note("seed " + std::to_string(group));
      const std::uint64_t late = scramble(group * 31 + static_cast<std::uint64_t>(rank));
      if (late % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(late / 8 % 1000));
      ASSERT_EQ(part.call(communicators[rank]), rondoSuccess)
          << "seed " << group << ": " << rondoGetLastError(communicators[rank]);
      ASSERT_EQ(part.wrong(), 0U) << "seed " << group << " rank " << rank;
    }
  };
  EXPECT_TRUE(RankTeam::shared().run(ranks, body, [&] { communicators.abort(); }));
}

TEST(MessageSoak, RandomSparseGroups) {
  const std::uint64_t first = numberFrom("RONDOTEST_SEED", 1);
  const auto length = std::chrono::seconds(numberFrom("RONDOTEST_SOAK_S", 4));
  const Communicators few({.ranks = 3, .chunkBytes = 64, .slots = 2});
  const Communicators many({.ranks = 8});
  const Communicators two({.ranks = 2, .slots = 2});
  const Clock::time_point end = Clock::now() + length;
  std::uint64_t seed = first;
  do {
    for (const Communicators* const communicators : {&few, &many, &two}) {
      playBatch(*communicators, seed);
      if (HasFailure()) return;
      seed += kGroupsPerBatch;
    }
  } while (Clock::now() < end);
  std::cout << "seeds " << first << " to " << seed - 1 << "\n";
}

/// The same groups with all ranks in one thread.
TEST(MessageSoak, OneThreadDrivesRandomGroups) {
  constexpr int kRanks = 4;
  const Communicators communicators({.ranks = kRanks, .chunkBytes = 1024});
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Draw draw = drawGroup(seed, kRanks);
    std::vector<RankPart> parts;
    for (int rank = 0; rank < kRanks; ++rank)
      parts.emplace_back(draw, rank);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_EQ(parts[static_cast<std::size_t>(rank)].call(communicators[rank]), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    for (const RankPart& part : parts)
      ASSERT_EQ(part.wrong(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rondo::testing
