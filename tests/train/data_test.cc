// What a training reads: the order of a text's sequences, and batches that are made ahead.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/train_gpt/batch_prefetch.h"
#include "examples/train_gpt/text_data.h"
#include "rondo/rondo.hpp"

namespace rondo::train {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::Throws;

constexpr int kLength = 4;

/// 10 sequences, whose tokens all differ.
TextData someText(std::uint64_t seed = 1) {
  std::vector<std::uint8_t> text(10 * kLength + 1);
  std::iota(text.begin(), text.end(), std::uint8_t{0});
  return {text, kLength, seed};
}

TEST(TextData, VisitsEachSequenceOnceInEachEpochInAnotherOrder) {
  TextData data = someText();
  std::vector<std::vector<std::uint8_t>> orders;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    orders.emplace_back();
    for (std::uint64_t i = 0; i < data.sequences(); ++i) {
      const TokenBatch batch = data.batch(epoch * data.sequences() + i, 1);
      for (std::size_t token = 0; token < kLength; ++token) {
        EXPECT_EQ(batch.tokens[token], batch.tokens[0] + token);
        EXPECT_EQ(batch.targets[token], batch.tokens[token] + 1);
      }
      orders.back().push_back(batch.tokens[0]);
    }
    EXPECT_EQ(std::set(orders.back().begin(), orders.back().end()).size(), data.sequences());
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST(TextData, DependsOnNothingButSeedAndPlace) {
  TextData forward = someText();
  TextData backward = someText();
  std::vector<TokenBatch> batches;
  for (std::uint64_t i = 0; i < 8; ++i)
    batches.push_back(forward.batch(4 * i, 4));
  for (std::uint64_t i = 8; i-- > 0;)
    EXPECT_EQ(backward.batch(4 * i, 4).tokens, batches[i].tokens);
  EXPECT_NE(someText(2).batch(0, 10).tokens, someText(1).batch(0, 10).tokens);
}

TEST(BatchPrefetch, GivesTheSameBatchesAsTheirSource) {
  TextData plain = someText();
  TextData ahead = someText();
  constexpr std::uint64_t kCount = 40;  // several epochs
  BatchPrefetch batches([&](std::uint64_t number) { return ahead.batch(3 * number, 3); }, kCount);
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const TokenBatch batch = batches.next();
    const TokenBatch wanted = plain.batch(3 * number, 3);
    EXPECT_EQ(batch.length, wanted.length);
    EXPECT_EQ(batch.tokens, wanted.tokens);
    EXPECT_EQ(batch.targets, wanted.targets);
  }
  EXPECT_THAT([&] { batches.next(); },
              Throws<Error>(Property(&Error::what, HasSubstr("all 40 batches were used"))));
}

/// A batch that tells its number.
TokenBatch numbered(std::uint64_t number) {
  return {1, {static_cast<std::uint8_t>(number)}, {0}};
}

/// Returns once the source has made `wanted` batches; fails the test if it does not.
void awaitMade(const std::atomic<std::uint64_t>& made, std::uint64_t wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (made < wanted && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  ASSERT_GE(made, wanted);
}

TEST(BatchPrefetch, MakesBatchesBeforeTheyAreAskedForButOnlySoMany) {
  std::atomic<std::uint64_t> made = 0;
  BatchPrefetch batches(
      [&](std::uint64_t number) {
        ++made;
        return numbered(number);
      },
      1000);
  awaitMade(made, BatchPrefetch::kAhead);
  for (std::uint64_t taken = 0; taken < 50; ++taken) {
    EXPECT_LE(made, taken + BatchPrefetch::kAhead);
    EXPECT_EQ(batches.next().tokens[0], taken);
    awaitMade(made, taken + 1 + BatchPrefetch::kAhead);
  }
  // Ends here, with batches that nobody used.
}

TEST(BatchPrefetch, EndsWithTheSourcesErrorAfterTheBatchesBeforeIt) {
  const auto source = [](std::uint64_t number) {
    if (number == 3) throw Error(rondoSystemError, "the disk has gone");
    return numbered(number);
  };
  BatchPrefetch batches(source, 10);
  for (std::uint64_t number = 0; number < 3; ++number)
    EXPECT_EQ(batches.next().tokens[0], number);
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT([&] { batches.next(); },
                Throws<Error>(Property(&Error::what, HasSubstr("the disk has gone"))));
  }
  const BatchPrefetch unused(source, 10);  // its error is nobody's
}

TEST(BatchPrefetch, MayHaveNothingToDo) {
  BatchPrefetch batches(numbered, 0);
  EXPECT_THROW(batches.next(), Error);
}

}  // namespace
}  // namespace rondo::train
