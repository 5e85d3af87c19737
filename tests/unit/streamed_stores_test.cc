// Copies past the caches, and the choice between them and plain ones.
#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/store_choice.h"
#include "kernels/host/streamed_copy.h"
#include "kernels/memory_order.h"

namespace rondo::host {
namespace {

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 7 + 1);
  return data;
}

TEST(StreamedCopy, CopiesWhatItShouldAndNothingElse) {
  constexpr std::size_t kGuard = 128;
  for (const std::size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 4096, 10001}) {
    const std::vector<std::byte> source = pattern(bytes + 64);
    for (const std::size_t targetSkew : {0, 1, 8, 63}) {
      for (const std::size_t sourceSkew : {0, 3, 32}) {
        std::vector<std::byte> target(bytes + 2 * kGuard, std::byte{0xee});
        std::byte* to = target.data() + kGuard - 64 + targetSkew;
        streamedCopy(to, source.data() + sourceSkew, bytes);
        fenceStreamedStores();
        EXPECT_TRUE(std::equal(to, to + bytes, source.data() + sourceSkew)) << bytes;
        const auto outside = std::count(target.begin(), target.end(), std::byte{0xee}) -
                             std::count(to, to + bytes, std::byte{0xee});
        EXPECT_EQ(static_cast<std::size_t>(outside), target.size() - bytes);
      }
    }
  }
}

TEST(StreamedCopy, IsVisibleOnceItsCounterIs) {
  constexpr std::uint64_t kRounds = 3000;
  std::vector<std::byte> slot(8192);
  std::uint64_t tail = 0;
  std::uint64_t head = 0;
  std::thread sender([&] {
    std::vector<std::byte> message(slot.size());
    for (std::uint64_t k = 1; k <= kRounds; ++k) {
      while (observeCounter(head) != k - 1)
        std::this_thread::yield();
      std::ranges::fill(message, static_cast<std::byte>(k));
      streamedCopy(slot.data(), message.data(), slot.size());
      fenceStreamedStores();
      postCounter(tail, k);
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 1; k <= kRounds; ++k) {
    while (observeCounter(tail) != k)
      std::this_thread::yield();
    const auto right = std::ranges::count(slot, static_cast<std::byte>(k));
    wrong += static_cast<std::size_t>(right) == slot.size() ? 0 : 1;
    postCounter(head, k);
  }
  sender.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(StoreChoice, FollowsItsKind) {
  std::vector<std::byte> slot(65536);
  StoreChoice plain(StorePolicy::kPlain);
  StoreChoice streamed(StorePolicy::kStreamed);
  for (int filling = 0; filling < 200; ++filling) {
    EXPECT_FALSE(plain.streams(slot.data(), slot.size()));
    EXPECT_TRUE(streamed.streams(slot.data(), slot.size()));
    EXPECT_TRUE(streamed.streams(slot.data(), 1));
  }
}

TEST(StoreChoice, SmallFillingsArePlain) {
  std::vector<std::byte> slot(65536);
  StoreChoice choice(StorePolicy::kMeasured);
  for (int filling = 0; filling < 200; ++filling)
    EXPECT_FALSE(choice.streams(slot.data(), 512));
}

TEST(StoreChoice, ProbesStayWithinTheFilling) {
  constexpr std::size_t kBytes = 5000;
  std::vector<std::byte> slot(2 * kBytes, std::byte{0xee});
  StoreChoice choice(StorePolicy::kMeasured);
  for (int filling = 0; filling < 200; ++filling)
    choice.streams(slot.data(), kBytes);
  EXPECT_EQ(std::count(slot.begin() + kBytes, slot.end(), std::byte{0xee}),
            static_cast<std::ptrdiff_t>(kBytes));
  EXPECT_EQ(slot.front(), std::byte{0}) << "no probe was made";
}

}  // namespace
}  // namespace rondo::host
