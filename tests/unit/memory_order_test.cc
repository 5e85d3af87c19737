// Litmus tests: each named operation of kernels/memory_order.h against the outcome it must prevent.
// On x86-64 the processor forgives most mistakes; the thread sanitizer build does not, so both run
// these.

#include "kernels/memory_order.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace rondo::host {
namespace {

constexpr std::uint64_t kRounds = 20000;

/// Waits politely: the other thread may need this processor.
template <class Condition>
void until(Condition condition) {
  for (int polls = 0; !condition(); ++polls) {
    relaxCpu();
    if (polls % 64 == 63) std::this_thread::yield();
  }
}

TEST(MemoryOrder, PayloadIsVisibleOnceItsCounterIs) {
  std::uint64_t payload = 0;  // plain memory, ordered by the counters alone
  std::uint64_t tail = 0;
  std::uint64_t head = 0;
  std::thread sender([&] {
    for (std::uint64_t k = 1; k <= kRounds; ++k) {
      until([&] { return observeCounter(head) == k - 1; });
      payload = k;
      postCounter(tail, k);
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 1; k <= kRounds; ++k) {
    until([&] { return observeCounter(tail) == k; });
    wrong += payload == k ? 0 : 1;
    postCounter(head, k);
  }
  sender.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(MemoryOrder, ReasonIsVisibleOnceTheFlagIs) {
  for (int round = 0; round < 200; ++round) {
    int reason = 0;
    std::uint32_t flag = 0;
    std::thread failing([&] {
      reason = 42;
      raiseFlag(flag);
    });
    until([&] { return flagRaised(flag); });
    EXPECT_EQ(reason, 42);
    failing.join();
  }
}

TEST(MemoryOrder, OneClaimantMakesWhatAllSee) {
  constexpr std::uint64_t kMaking = 1;
  for (std::uint64_t round = 2; round < 500; ++round) {
    std::uint64_t word = 0;
    std::uint64_t made = 0;  // plain memory, written by the claimant alone
    std::array<std::uint64_t, 2> seen{};
    const auto makeOrFind = [&](std::uint64_t& result) {
      if (claimWord(word, 0, kMaking)) {
        made = round;
        postCounter(word, round);
      }
      until([&] { return observeCounter(word) > kMaking; });
      result = made;
    };
    std::thread other([&] { makeOrFind(seen[1]); });
    makeOrFind(seen[0]);
    other.join();
    ASSERT_EQ(seen[0], round);
    ASSERT_EQ(seen[1], round);
  }
}

TEST(MemoryOrder, SharesOfASupplyDoNotOverlap) {
  std::uint64_t supply = 0;
  std::array<std::uint64_t, 2> sums{};
  const auto takeAll = [&](std::uint64_t& sum) {
    for (std::uint64_t k = 0; k < kRounds; ++k)
      sum += takeFrom(supply, 1);
  };
  std::thread other([&] { takeAll(sums[1]); });
  takeAll(sums[0]);
  other.join();
  // 0 + 1 + ... + (2 kRounds - 1): every number was given out once.
  EXPECT_EQ(sums[0] + sums[1], kRounds * (2 * kRounds - 1));
}

/// Rounds in which a rank goes to sleep just when its peer posts.
struct SleepRace {
  std::uint64_t posted = 0;
  alignas(64) std::uint32_t asleep = 0;
  alignas(64) std::uint64_t posterReady = 0;
  alignas(64) std::uint64_t sleeperReady = 0;

  /// @param announce announceSleep(), or a mutant of it
  /// @return rounds in which the peer saw nobody asleep and the sleeper nothing posted
  template <class Announce>
  std::uint64_t oversleptRounds(std::uint64_t rounds, Announce announce) {
    std::uint64_t silent = 0;  // whether the peer's last post found nobody asleep
    std::thread poster([&] {
      for (std::uint64_t k = 1; k <= rounds; ++k) {
        meet(posterReady, sleeperReady, 2 * k - 1);
        passNanoseconds(k % 61);
        postCounter(posted, k);
        silent = sleepAnnounced(asleep) ? 0 : 1;
        meet(posterReady, sleeperReady, 2 * k);
      }
    });
    std::uint64_t overslept = 0;
    for (std::uint64_t k = 1; k <= rounds; ++k) {
      meet(sleeperReady, posterReady, 2 * k - 1);
      passNanoseconds(k % 59);
      announce(asleep);
      const bool missed = observeCounter(posted) < k;
      meet(sleeperReady, posterReady, 2 * k);
      overslept += missed && silent == 1 ? 1 : 0;
      (void)endSleep(asleep);
    }
    poster.join();
    return overslept;
  }

 private:
  /// A few more each round, so that the two come at each other from all distances.
  static void passNanoseconds(std::uint64_t some) {
    for (volatile std::uint64_t left = some; left > 0;)
      left = left - 1;
  }

  /// Both at once: whoever comes second sees the first one's counter while it still polls.
  static void meet(std::uint64_t& own, std::uint64_t& other, std::uint64_t step) {
    postCounter(own, step);
    until([&] { return observeCounter(other) >= step; });
  }
};

TEST(MemoryOrder, APostIsSeenOrItsPosterRings) {
  if (!joinProcessFences()) GTEST_SKIP() << "this kernel has no membarrier for processes";
  SleepRace race;
  EXPECT_EQ(race.oversleptRounds(kRounds, announceSleep), 0U);
}

/// That the test above can fail: without the fence that the sleeper makes for both.
TEST(MemoryOrder, WithoutAFenceSomePostsAreOverslept) {
  const auto announceWithoutFence = [](std::uint32_t& asleep) {
    std::atomic_ref(asleep).store(1, std::memory_order_relaxed);
  };
  std::uint64_t overslept = 0;
  for (int attempt = 0; attempt < 5 && overslept == 0; ++attempt) {
    SleepRace race;
    overslept = race.oversleptRounds(kRounds, announceWithoutFence);
  }
  if (overslept == 0) GTEST_SKIP() << "the two threads never met on two processors";
}

TEST(MemoryOrder, OneOfSeveralTakesAnAnnouncementBack) {
  for (int round = 0; round < 200; ++round) {
    std::uint32_t asleep = 0;
    announceSleep(asleep);
    std::array<int, 2> taken{};
    std::thread other([&] { taken[1] = endSleep(asleep) ? 1 : 0; });
    taken[0] = endSleep(asleep) ? 1 : 0;
    other.join();
    EXPECT_EQ(taken[0] + taken[1], 1);
    EXPECT_FALSE(sleepAnnounced(asleep));
  }
}

/// A payload that its owner takes back just when it is going to be read: the two words of a
/// connection's ends, and plain memory that the owner changes once nobody reads it.
TEST(MemoryOrder, WhatIsWithdrawnIsNotReadAnyMore) {
  for (std::uint64_t round = 1; round <= 500; ++round) {
    std::uint64_t payload = round;
    alignas(64) std::uint64_t withdrawn = 0;
    alignas(64) std::uint64_t reading = 0;
    std::uint64_t head = 0;
    std::uint32_t begun = 0;
    std::uint64_t read = round;
    std::thread reader([&] {
      raiseFlag(begun);
      for (volatile std::uint64_t left = round % 97; left > 0;)
        left = left - 1;
      if (claimPlace(reading, 1, withdrawn)) {
        read = payload;
        postCounter(head, 1);
      } else {
        postCounter(reading, 0);
      }
    });
    until([&] { return flagRaised(begun); });
    until([&] { return withdrawPlaces(withdrawn, reading) <= observeCounter(head); });
    payload = 0;
    reader.join();
    ASSERT_EQ(read, round);
  }
}

TEST(MemoryOrder, RecordsAreReadWholeOrNotAtAll) {
  std::array<RecordWord, 3> record;  // version and two parts that always agree
  std::uint32_t done = 0;
  std::thread owner([&] {
    for (std::uint64_t version = 1; version <= kRounds; ++version) {
      record[0].beginChange();
      record[1].setPart(version * 3);
      record[2].setPart(version * 5);
      record[0].endChange(version);
    }
    raiseFlag(done);
  });
  std::uint64_t torn = 0;
  std::uint64_t whole = 0;
  const auto readOnce = [&] {
    const std::uint64_t version = record[0].beginRead();
    const std::uint64_t first = record[1].part();
    const std::uint64_t second = record[2].part();
    if (version == 0 || !record[0].endRead(version)) return;
    ++whole;
    torn += first == version * 3 && second == version * 5 ? 0 : 1;
  };
  while (!flagRaised(done))
    readOnce();
  owner.join();
  readOnce();
  EXPECT_EQ(torn, 0U);
  EXPECT_GT(whole, 0U);
}

}  // namespace
}  // namespace rondo::host
