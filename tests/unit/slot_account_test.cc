// What slots may take, over all communicators of a process: who holds how much, and that it comes
// back.
#include "transports/slot_account.h"

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rondo {
namespace {

constexpr SlotShape kWanted{4096, 4};
constexpr SlotShape kFewest = withFewestSlots(kWanted);
constexpr std::size_t kFull = connectionBytes(kWanted);
constexpr std::size_t kTight = connectionBytes(kFewest);

/// How many connections of how many slots `account` gets until there is no more.
std::array<int, 2> takeAll(SlotAccount& account) {
  std::array<int, 2> got{};
  for (Result<SlotShape> taken = account.take(kWanted); taken.ok(); taken = account.take(kWanted)) {
    EXPECT_EQ(taken->bytes, kWanted.bytes);
    ++got[taken->count == kWanted.count ? 0 : 1];
  }
  return got;
}

TEST(SlotAccount, HalfIsForFullConnectionsTheRestForTight) {
  SlotLedger ledger;
  SlotAccount account(10 * kFull + 3 * kTight, ledger);
  const auto [full, tight] = takeAll(account);
  EXPECT_EQ(full, 5);
  EXPECT_EQ(tight, static_cast<int>((5 * kFull + 3 * kTight) / kTight));
  EXPECT_EQ(account.held(), full * kFull + static_cast<std::size_t>(tight) * kTight);
}

TEST(SlotAccount, SeveralShareOneLedger) {
  SlotLedger ledger;
  SlotAccount first(8 * kFull, ledger);
  ASSERT_TRUE(first.take(kWanted).ok());
  {
    SlotAccount second(8 * kFull, ledger);
    (void)takeAll(second);
    EXPECT_EQ(ledger.held(), first.held() + second.held());
    EXPECT_EQ(first.take(kWanted).status().code(), StatusCode::kOutOfMemory);
  }
  EXPECT_EQ(ledger.held(), kFull);
  EXPECT_EQ(first.take(kWanted)->count, kWanted.count);
}

TEST(SlotAccount, TheErrorNamesSettingWantedAndHeld) {
  SlotLedger ledger;
  SlotAccount other(0, ledger);
  ASSERT_TRUE(other.take(kWanted).ok());
  SlotAccount account(kFull + 100, ledger);
  const Status status = account.take(kWanted).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  for (const std::string& part :
       {std::string("RONDO_SLOT_MEMORY_BYTES"), fmt::format("{} bytes wanted", kTight),
        fmt::format("holds {} of the {} bytes", kFull, kFull + 100)}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
  }
}

TEST(SlotAccount, WithoutALimitThereIsAlwaysMore) {
  SlotLedger ledger;
  SlotAccount account(0, ledger);
  for (int times = 0; times < 10; ++times)
    EXPECT_EQ(account.take({std::size_t{64} << 20, 64})->count, 64U);
}

TEST(SlotAccount, WhatTheSystemRefusedIsGivenBack) {
  SlotLedger ledger;
  SlotAccount account(2 * kFull, ledger);
  account.giveBack(*account.take(kWanted));
  EXPECT_EQ(ledger.held(), 0U);
}

TEST(SlotAccount, MovingMovesWhatIsHeld) {
  SlotLedger ledger;
  {
    SlotAccount account(0, ledger);
    ASSERT_TRUE(account.take(kWanted).ok());
    SlotAccount moved(std::move(account));
    EXPECT_EQ(moved.held(), kFull);
    SlotAccount assigned(0, ledger);
    assigned = std::move(moved);
    EXPECT_EQ(ledger.held(), kFull);
  }
  EXPECT_EQ(ledger.held(), 0U);
}

TEST(SlotLedger, ThreadsNeverHoldMoreThanTheLimit) {
  constexpr std::size_t kLimit = 100;
  SlotLedger ledger;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int times = 0; times < 20000; ++times) {
        if (!ledger.take(30, kLimit)) continue;
        EXPECT_LE(ledger.held(), kLimit);
        ledger.giveBack(30);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(ledger.held(), 0U);
}

TEST(SlotLedger, AChildBeginsWithAnEmptyOne) {
  SlotLedger ledger;
  ASSERT_TRUE(ledger.take(5000, 6000));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool right = ledger.held() == 0 && ledger.take(5000, 6000) && ledger.held() == 5000;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(ledger.held(), 5000U);
}

}  // namespace
}  // namespace rondo
