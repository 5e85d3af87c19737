// Cases of public bug reports about exchanges, messages and threads (docs/testing.md lists them).
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

std::vector<std::size_t> placesOf(const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), std::size_t{0});
  return places;
}

std::int64_t elementOf(std::size_t from, std::size_t index) {
  return static_cast<std::int64_t>(from * 1000000000 + index);
}

/// Exchanges counts[from][to] elements and looks at each one that arrives.
void exchange(const std::vector<std::vector<std::size_t>>& counts, int rank, rondoComm_t comm) {
  const auto own = static_cast<std::size_t>(rank);
  const std::vector<std::size_t>& out = counts[own];
  std::vector<std::size_t> in;
  for (const std::vector<std::size_t>& row : counts)
    in.push_back(row[own]);
  const std::vector<std::size_t> outPlaces = placesOf(out);
  const std::vector<std::size_t> inPlaces = placesOf(in);
  std::vector<std::int64_t> sent(outPlaces.back() + out.back());
  for (std::size_t to = 0; to < out.size(); ++to) {
    for (std::size_t at = 0; at < out[to]; ++at)
      sent[outPlaces[to] + at] = elementOf(own, at);
  }
  std::vector<std::int64_t> got(inPlaces.back() + in.back(), -1);
  ASSERT_EQ(rondoAllToAllV(sent.data(), out.data(), outPlaces.data(), got.data(), in.data(),
                           inPlaces.data(), rondoInt64, comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  for (std::size_t from = 0; from < in.size(); ++from) {
    for (std::size_t at = 0; at < in[from]; ++at)
      ASSERT_EQ(got[inPlaces[from] + at], elementOf(from, at)) << from << ' ' << at;
  }
}

/// Counts as in the report, but for their scale: 0 to 4 times that, back to back.
TEST(FieldExchanges, S03DifferentCountsBackToBack) {
  for (const std::size_t scale : {std::size_t{1}, std::size_t{60000}}) {
    const Communicators communicators({.ranks = 4});
    std::vector<std::vector<std::size_t>> counts(4, std::vector<std::size_t>(4));
    for (std::size_t from = 0; from < 4; ++from) {
      for (std::size_t to = 0; to < 4; ++to)
        counts[from][to] = (from * 7 + to * 3) % 5 * scale + (scale > 1 ? from + to : 0);
    }
    runRanks(communicators, [&](int rank) {
      for (int repeat = 0; repeat < 3; ++repeat)
        exchange(counts, rank, communicators[rank]);
    });
  }
}

/// Around multiples of what a slot holds, and of what all slots of a connection hold: the last of
/// each block is what was left over where that was counted wrongly.
TEST(FieldExchanges, S04TheTailOfAnAllGatherArrives) {
  constexpr std::size_t kChunk = 4096;
  constexpr std::size_t kSlots = 3;
  const Communicators communicators({.ranks = 3, .chunkBytes = kChunk, .slots = kSlots});
  runRanks(communicators, [&](int rank) {
    for (const std::size_t chunks :
         {std::size_t{1}, std::size_t{2}, kSlots, kSlots + 1, 64 * kSlots}) {
      for (const std::size_t count : {chunks * kChunk - 1, chunks * kChunk, chunks * kChunk + 1}) {
        const std::vector<std::uint8_t> own(count, static_cast<std::uint8_t>(rank + 1));
        std::vector<std::uint8_t> all(3 * count, 0xA5);
        ASSERT_EQ(
            rondoAllGather(own.data(), all.data(), count, rondoUint8, communicators[rank], nullptr),
            rondoSuccess);
        for (std::size_t at = 0; at < all.size(); ++at)
          ASSERT_EQ(all[at], at / count + 1) << count << " at " << at;
      }
    }
  });
}

TEST(FieldExchanges, Z02RanksThatSendNothing) {
  const Communicators communicators({.ranks = 4});
  std::vector<std::vector<std::size_t>> counts(4, std::vector<std::size_t>(4));
  const std::vector<std::vector<std::size_t>> nothing = counts;
  counts[0][3] = 7;
  counts[2][1] = 1;
  runRanks(communicators, [&](int rank) {
    exchange(counts, rank, communicators[rank]);
    exchange(nothing, rank, communicators[rank]);
    // Nine of ten pairs have nothing for each other.
    std::uint32_t random = 1;  // the same on all ranks
    for (int matrix = 0; matrix < 100; ++matrix) {
      std::vector<std::vector<std::size_t>> sparse = nothing;
      for (std::vector<std::size_t>& row : sparse) {
        for (std::size_t& count : row) {
          random = random * 1664525 + 1013904223;  // Numerical Recipes' generator
          count = random >> 28 == 0 ? random >> 16 & 0xfff : 0;
        }
      }
      exchange(sparse, rank, communicators[rank]);
    }
  });
}

TEST(FieldMessages, P02ExchangesInAGroupWorkAtAnySize) {
  constexpr std::size_t kCount = std::size_t{4} << 20;
  const Communicators communicators({.ranks = 2});
  runRanks(communicators, [&](int rank) {
    const std::vector<float> sent(kCount, static_cast<float>(rank));
    std::vector<float> got(kCount, -1.0F);
    Group group;
    for (const bool sends : {true, false}) {
      ASSERT_EQ(
          sends
              ? rondoSend(sent.data(), kCount, rondoFloat32, 1 - rank, communicators[rank], nullptr)
              : rondoRecv(got.data(), kCount, rondoFloat32, 1 - rank, communicators[rank], nullptr),
          rondoSuccess);
    }
    group.end();
    EXPECT_EQ(got, std::vector<float>(kCount, static_cast<float>(1 - rank)));
  });
}

/// Each waits for the other to receive: the time-out says what to do.
TEST(FieldMessages, P02WithoutAGroupTheTimeoutNamesIt) {
  CommunicatorSettings settings = quietSettings(2);
  settings.operationTimeoutMs = 400;
  const Communicators communicators(settings);
  const std::vector<float> sent(std::size_t{4} << 20);
  const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
    return rondoSend(sent.data(), sent.size(), rondoFloat32, 1 - rank, comm, nullptr);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result, rondoTimeout);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("send #1 to rank"),
                                       HasSubstr("both calls of each rank in one group")));
  }
}

TEST(FieldThreads, P03EachWithACommunicatorOfItsOwn) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  const Communicators communicators({.ranks = kThreads});
  runRanks(communicators, [&](int rank) {
    for (int call = 0; call < kCalls; ++call) {
      std::int64_t value = rank + call;
      ASSERT_EQ(
          rondoAllReduce(&value, &value, 1, rondoInt64, rondoSum, communicators[rank], nullptr),
          rondoSuccess);
      ASSERT_EQ(value, 6 + kThreads * call);
    }
  });
}

/// Two threads share each rank's communicator. In an order that a lock gives every result is exact;
/// without one calls are carried out one after another in any order, and all are alike.
TEST(FieldThreads, P03TwoThreadsOnOneCommunicator) {
  constexpr int kCalls = 200;
  for (const bool locked : {true, false}) {
    const Communicators communicators({.ranks = 2});
    std::mutex mutexes[2];
    runRanks(communicators, [&](int rank) {
      const auto call = [&] {
        for (int number = 0; number < kCalls; ++number) {
          std::unique_lock<std::mutex> lock;
          if (locked) lock = std::unique_lock(mutexes[rank]);
          std::int64_t value = rank + 1;
          ASSERT_EQ(
              rondoAllReduce(&value, &value, 1, rondoInt64, rondoSum, communicators[rank], nullptr),
              rondoSuccess);
          ASSERT_EQ(value, 3);
        }
      };
      std::thread other(call);
      call();
      other.join();
    });
  }
}

}  // namespace
}  // namespace rondo::testing
