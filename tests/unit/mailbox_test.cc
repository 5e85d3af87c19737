#include "transports/mailbox.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rondo {
namespace {

/// Mailboxes of ranks that are threads of this test.
class Neighbourhood {
 public:
  explicit Neighbourhood(int ranks)
      : mailboxes_(static_cast<std::size_t>(ranks)), bells_(static_cast<std::size_t>(ranks)) {}

  MailboxEnds ends(int rank) {
    std::vector<MailboxMemory> memory;
    for (std::size_t other = 0; other < mailboxes_.size(); ++other)
      memory.push_back({&mailboxes_[other], &bells_[other]});
    return {std::move(memory), rank};
  }

  std::uint64_t& done(int rank) { return mailboxes_[static_cast<std::size_t>(rank)].done; }

 private:
  std::vector<Mailbox> mailboxes_;
  std::vector<Doorbell> bells_;
};

TEST(Mailbox, ABoxIsFullForItsOwnCallOnly) {
  Neighbourhood neighbours(2);
  MailboxEnds first = neighbours.ends(0);
  MailboxEnds second = neighbours.ends(1);
  EXPECT_FALSE(second.boxFull(0, 7));
  ASSERT_TRUE(first.boxFree());
  std::memset(first.box(), 42, kMailboxBytes);
  first.post(7);
  EXPECT_TRUE(second.boxFull(0, 7));
  EXPECT_FALSE(second.boxFull(0, 8));
  EXPECT_EQ(second.payload(0)[kMailboxBytes - 1], std::byte{42});
  second.finish();
  EXPECT_FALSE(second.boxFull(0, 7)) << "the next call has boxes of its own";
}

TEST(Mailbox, ARankIsAheadOfTheSlowestByItsBoxes) {
  Neighbourhood neighbours(3);
  MailboxEnds first = neighbours.ends(0);
  MailboxEnds second = neighbours.ends(1);
  MailboxEnds third = neighbours.ends(2);
  for (std::uint64_t call = 1; call <= Mailbox::kBoxes; ++call) {
    ASSERT_TRUE(first.boxFree()) << call;
    first.post(call);
    first.finish();
    second.finish();
  }
  EXPECT_FALSE(first.boxFree());
  EXPECT_EQ(first.slowest(), 2);
  third.finish();
  EXPECT_TRUE(first.boxFree());
  first.finish();
  EXPECT_FALSE(first.boxFree());
}

TEST(Mailbox, ARankThatGoesOnMeanwhileDoesNotHideASlowerOne) {
  Neighbourhood neighbours(3);
  MailboxEnds first = neighbours.ends(0);
  for (std::uint64_t call = 0; call < Mailbox::kBoxes; ++call)
    first.finish();
  // Rank 2 has finished nothing. Rank 1 is level with it, and far ahead the next moment, again and
  // again, so that it is looked at just when it moves.
  constexpr int kTurns = 1000000;
  std::atomic<int> turns = 0;
  std::thread second([&] {
    for (int turn = turns.load(); turn < kTurns; turn = turns.fetch_add(1))
      host::postCounter(neighbours.done(1), turn % 2 == 0 ? 0 : 2 * Mailbox::kBoxes);
  });
  bool free = false;
  while (!free && turns.load(std::memory_order_relaxed) < kTurns)
    free = first.boxFree();
  second.join();
  EXPECT_FALSE(free) << "rank 2 may still read the box";
}

TEST(Mailbox, MessagesOfThreadsCrossWhole) {
  constexpr std::uint64_t kCalls = 4000;
  constexpr std::size_t kWords = kMailboxBytes / sizeof(std::uint64_t);
  Neighbourhood neighbours(2);
  std::uint64_t wrong[2] = {};
  const auto exchange = [&](int rank) {
    MailboxEnds ends = neighbours.ends(rank);
    for (std::uint64_t call = 1; call <= kCalls; ++call) {
      while (!ends.boxFree())
        std::this_thread::yield();
      const std::size_t words = 1 + call % kWords;
      std::vector<std::uint64_t> message(words, call * 2 + static_cast<std::uint64_t>(rank));
      std::memcpy(ends.box(), message.data(), words * sizeof(std::uint64_t));
      ends.post(call);
      while (!ends.boxFull(1 - rank, call))
        std::this_thread::yield();
      std::memcpy(message.data(), ends.payload(1 - rank), words * sizeof(std::uint64_t));
      for (const std::uint64_t word : message)
        wrong[rank] += word == call * 2 + static_cast<std::uint64_t>(1 - rank) ? 0 : 1;
      ends.finish();
    }
  };
  std::thread other([&] { exchange(1); });
  exchange(0);
  other.join();
  EXPECT_EQ(wrong[0], 0U);
  EXPECT_EQ(wrong[1], 0U);
}

}  // namespace
}  // namespace rondo
