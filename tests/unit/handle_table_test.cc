// Handles: live, destroyed and never made ones are told apart; also from many threads.
#include "src/handle_table.h"

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rondo {
namespace {

using Table = HandleTable<int, 4, 20>;

TEST(HandleTable, FindsWhatWasInserted) {
  Table table(100);
  const auto first = table.insert(std::make_unique<int>(1));
  const auto second = table.insert(std::make_unique<int>(2));
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*table.find(*first).object, 1);
  EXPECT_EQ(*table.find(*second).object, 2);
  EXPECT_EQ(table.find(*second).state, HandleState::kLive);
}

TEST(HandleTable, ATakenHandleIsDestroyedForGood) {
  Table table(100);
  const auto handle = table.insert(std::make_unique<int>(1));
  EXPECT_EQ(*table.take(*handle), 1);
  EXPECT_EQ(table.take(*handle), nullptr);
  EXPECT_EQ(table.find(*handle).state, HandleState::kDestroyed);
  const auto next = table.insert(std::make_unique<int>(2));  // in the same slot
  EXPECT_NE(*next, *handle);
  EXPECT_EQ(table.find(*handle).state, HandleState::kDestroyed);
  EXPECT_EQ(table.find(*handle).object, nullptr);
  EXPECT_EQ(*table.find(*next).object, 2);
}

TEST(HandleTable, RefusesWhatItNeverGave) {
  Table table(100);
  const auto handle = table.insert(std::make_unique<int>(1));
  const std::uint64_t oneGeneration = Table::kCapacity;
  for (const std::uint64_t garbage :
       {std::uint64_t{0}, *handle + 1, *handle + oneGeneration, *handle - oneGeneration,
        *handle | std::uint64_t{1} << 24, ~std::uint64_t{0}}) {
    EXPECT_EQ(table.find(garbage).state, HandleState::kUnknown) << garbage;
    EXPECT_EQ(table.take(garbage), nullptr) << garbage;
  }
  EXPECT_EQ(table.find(*handle).state, HandleState::kLive);
}

TEST(HandleTable, TablesRefuseEachOthersHandles) {
  Table one(100);
  Table other(5000);
  const auto handle = one.insert(std::make_unique<int>(1));
  ASSERT_TRUE(other.insert(std::make_unique<int>(2)));
  EXPECT_EQ(other.find(*handle).state, HandleState::kUnknown);
}

TEST(HandleTable, AFullTableLeavesTheObject) {
  Table table(1);
  std::set<Table::Handle> handles;
  for (std::size_t count = 0; count < Table::kCapacity; ++count) {
    handles.insert(*table.insert(std::make_unique<int>(0)));
  }
  EXPECT_EQ(handles.size(), Table::kCapacity);
  auto object = std::make_unique<int>(7);
  EXPECT_FALSE(table.insert(std::move(object)).has_value());
  ASSERT_NE(object, nullptr);
  EXPECT_NE(table.take(*handles.begin()), nullptr);
  EXPECT_TRUE(table.insert(std::move(object)).has_value());
}

TEST(HandleTable, GenerationsMayWrapAround) {
  HandleTable<int, 1, 3> table(7);
  std::uint64_t stale = *table.insert(std::make_unique<int>(-1));
  ASSERT_NE(table.take(stale), nullptr);
  for (int round = 0; round < 100; ++round) {
    const auto handle = table.insert(std::make_unique<int>(round));
    ASSERT_EQ(*table.find(*handle).object, round);
    EXPECT_EQ(table.find(stale).state, HandleState::kDestroyed);
    ASSERT_EQ(*table.take(*handle), round);
    stale = *handle;
  }
}

TEST(HandleTable, ThreadsInsertFindAndTakeAtOnce) {
  HandleTable<std::uint64_t, 8, 40> table(1);
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 2000;
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&table, id] {
      std::uint64_t stale = 0;
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t value = id * kRounds + round;
        const auto handle = table.insert(std::make_unique<std::uint64_t>(value));
        ASSERT_TRUE(handle);
        ASSERT_EQ(*table.find(*handle).object, value);
        ASSERT_EQ(table.find(stale).object, nullptr);
        ASSERT_EQ(*table.take(*handle), value);
        stale = *handle;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace rondo
