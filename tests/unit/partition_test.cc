// How counts are cut up (collectives/partition.h): nothing lost, nothing twice, nothing out of
// order, up to counts where a careless product would overflow.
#include "collectives/partition.h"

#include <vector>

#include <gtest/gtest.h>

namespace rondo {
namespace {

/// Parts of evenShare() follow each other without gap, as even as the grain allows.
void checkEvenShare(std::size_t total, std::size_t parts, std::size_t grain) {
  SCOPED_TRACE(testing::Message() << "total " << total << " parts " << parts << " grain " << grain);
  const std::size_t fullGrains = total / grain;
  std::size_t next = 0;
  for (std::size_t index = 0; index < parts; ++index) {
    const Span part = evenShare(total, parts, index, grain);
    ASSERT_EQ(part.offset, next) << "part " << index;
    const bool aligned = part.offset % grain == 0 || part.elems == 0;
    ASSERT_TRUE(aligned) << "part " << index;
    ASSERT_LE(part.elems, (fullGrains / parts + 1) * grain) << "part " << index;
    ASSERT_GE(part.elems + grain, ceilDiv(total, grain) / parts * grain) << "part " << index;
    if (index > 0) {
      ASSERT_LE(part.elems, evenShare(total, parts, index - 1, grain).elems);
    }
    next += part.elems;
  }
  ASSERT_EQ(next, total);
}

TEST(EvenShare, CoversEverythingInOrder) {
  for (std::size_t total = 0; total <= 70; ++total) {
    for (std::size_t parts = 1; parts <= 20; ++parts) {
      for (const std::size_t grain : {1, 2, 3, 4, 16})
        checkEvenShare(total, parts, grain);
    }
  }
}

TEST(EvenShare, LargeCounts) {
  for (int shift = 31; shift <= 40; ++shift) {
    const std::size_t power = std::size_t{1} << shift;
    for (const std::size_t total : {power - 1, power, power + 1, power + 12345}) {
      for (const std::size_t parts : {1, 2, 3, 7, 128, 1000})
        checkEvenShare(total, parts, 32);
    }
  }
}

/// Chunks follow each other without gap, fit in slots, and partElems() is their sum.
void checkLoops(std::size_t total, std::size_t parts, std::size_t chunkElems, std::size_t grain) {
  SCOPED_TRACE(testing::Message() << "total " << total << " parts " << parts << " chunk "
                                  << chunkElems << " grain " << grain);
  const LoopPartition partition({0, total}, parts, chunkElems, grain);
  ASSERT_EQ(partition.elems(), total);
  std::size_t next = 0;
  std::vector<std::size_t> ofPart(parts);
  for (std::size_t loop = 0; loop < partition.loops(); ++loop) {
    for (std::size_t part = 0; part < parts; ++part) {
      const Span chunk = partition.chunk(loop, part);
      ASSERT_EQ(chunk.offset, next) << "loop " << loop << " part " << part;
      ASSERT_LE(chunk.elems, chunkElems);
      if (loop + 1 < partition.loops()) {
        ASSERT_EQ(chunk.elems, chunkElems);
      }
      next += chunk.elems;
      ofPart[part] += chunk.elems;
    }
    ASSERT_GT(partition.chunk(loop, 0).elems, 0U) << "a loop moves something";
  }
  ASSERT_EQ(next, total);
  for (std::size_t part = 0; part < parts; ++part)
    ASSERT_EQ(partition.partElems(part), ofPart[part]) << "part " << part;
}

TEST(LoopPartition, CoversEverythingInOrder) {
  for (std::size_t total = 0; total <= 100; ++total) {
    for (std::size_t parts = 1; parts <= 9; ++parts) {
      for (const std::size_t grain : {1, 2, 4}) {
        for (const std::size_t grains : {1, 2, 5})
          checkLoops(total, parts, grain * grains, grain);
      }
    }
  }
}

/// Few loops, so that all of them can be looked at.
TEST(LoopPartition, LargeCounts) {
  for (int shift = 31; shift <= 40; ++shift) {
    const std::size_t power = std::size_t{1} << shift;
    for (const std::size_t total : {power - 1, power, power + 1, power / 3}) {
      for (const std::size_t parts : {1, 3, 8, 128})
        checkLoops(total, parts, ceilDiv(power / 5 / parts, 32) * 32, 32);
    }
  }
}

/// Realistic chunks of a huge count: too many loops to visit, so the first, the middle and the
/// last.
TEST(LoopPartition, LargeCountsInSmallChunks) {
  constexpr std::size_t kTotal = (std::size_t{1} << 40) + 77;
  constexpr std::size_t kChunk = 4096;
  for (const std::size_t parts : {1, 3, 8, 128}) {
    const LoopPartition partition({0, kTotal}, parts, kChunk, 32);
    const std::size_t loops = partition.loops();
    ASSERT_EQ(loops, ceilDiv(kTotal, parts * kChunk));
    std::size_t sum = 0;
    for (std::size_t part = 0; part < parts; ++part)
      sum += partition.partElems(part);
    EXPECT_EQ(sum, kTotal);
    for (const std::size_t loop : {std::size_t{0}, loops / 2, loops - 2}) {
      const Span last = partition.chunk(loop, parts - 1);
      EXPECT_EQ(last.offset + last.elems, partition.chunk(loop + 1, 0).offset);
    }
    const Span end = partition.chunk(loops - 1, parts - 1);
    EXPECT_EQ(end.offset + end.elems, kTotal);
  }
}

TEST(LoopPartition, NothingToMove) {
  const LoopPartition partition({7, 0}, 4, 16, 1);
  EXPECT_EQ(partition.loops(), 0U);
  EXPECT_EQ(partition.partElems(3), 0U);
}

TEST(CeilDiv, DoesNotOverflow) {
  constexpr std::size_t kMost = ~std::size_t{0};
  EXPECT_EQ(ceilDiv(kMost, 2), kMost / 2 + 1);
  EXPECT_EQ(ceilDiv(kMost, kMost), 1U);
  EXPECT_EQ(ceilDiv(0, 7), 0U);
}

}  // namespace
}  // namespace rondo
