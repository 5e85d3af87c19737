// PredictableData: its inputs stay in the range where every order gives the same bits, and its
// expectations are what a reduction written out here gives.

#include "src/cli/perf/predictable.h"

#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/element.h"
#include "src/cli/perf/predictable_values.h"

namespace rondo::perf {
namespace {

constexpr std::size_t kSomeElements = 100;
constexpr int kRankCounts[] = {1, 2, 3, 5, 8, 17, 300};

template <class T>
T elementOf(Word word) {
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T>
Word wordOf(T value) {
  Word word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

/// Folds in the order first, first + 1, ..., around the ring; the library's definition of an
/// element's arithmetic is here the second opinion on values that were derived without it.
/// @param hopRounded narrows each partial result to the element's type
template <DataType kType, ReduceOp kOp>
Word foldFrom(const ReductionValues& values, std::size_t index, int first, bool hopRounded) {
  using T = ElementOf<kType>;
  using R = Reduction<T, kOp>;
  typename R::Accumulator folded{};
  for (int turn = 0; turn < values.ranks; ++turn) {
    const int rank = (first + turn) % values.ranks;
    const T element = elementOf<T>(values.input(rank, index));
    auto value = R::widen(element);
    if constexpr (kOp == ReduceOp::kPreMulSum) {
      const T factor = elementOf<T>(values.scale(rank));
      value = R::widenScaled(element, Reduction<T, ReduceOp::kPreMulSum>::widen(factor));
    }
    folded = turn == 0 ? value : R::fold(folded, value);
    if (hopRounded) folded = R::widen(R::narrow(folded));
  }
  if constexpr (kOp == ReduceOp::kAvg) {
    folded = R::divide(folded, static_cast<std::uint64_t>(values.ranks));
  }
  return wordOf(R::narrow(folded));
}

template <DataType kType, ReduceOp kOp>
void expectReductionsAgree() {
  if constexpr (isReducible(kType, kOp)) {
    // Averages of narrow types are never rounded on the way (docs/numerics.md).
    const bool mayRound = kOp != ReduceOp::kAvg;
    for (const int ranks : kRankCounts) {
      const ReductionValues values{kType, kOp, ranks, 7};
      for (std::size_t index = 0; index < kSomeElements; ++index) {
        const Word expected = values.reduced(index);
        const int first = static_cast<int>(index) % ranks;
        ASSERT_EQ((foldFrom<kType, kOp>(values, index, 0, false)), expected)
            << dataTypeName(kType) << " " << reduceOpName(kOp) << " ranks " << ranks << " index "
            << index;
        ASSERT_EQ((foldFrom<kType, kOp>(values, index, first, mayRound)), expected)
            << dataTypeName(kType) << " " << reduceOpName(kOp) << " ranks " << ranks << " index "
            << index << " from rank " << first;
      }
    }
  }
}

template <DataType kType>
void expectAllOpsAgree() {
  expectReductionsAgree<kType, ReduceOp::kSum>();
  expectReductionsAgree<kType, ReduceOp::kProd>();
  expectReductionsAgree<kType, ReduceOp::kMin>();
  expectReductionsAgree<kType, ReduceOp::kMax>();
  expectReductionsAgree<kType, ReduceOp::kAvg>();
  expectReductionsAgree<kType, ReduceOp::kPreMulSum>();
}

#define RONDO_REDUCTION_TEST(name, cppType, bytes, text)      \
  TEST(PredictableValues, EveryOrderGivesTheExpected##name) { \
    expectAllOpsAgree<DataType::k##name>();                   \
  }
RONDO_FOR_EACH_DATA_TYPE(RONDO_REDUCTION_TEST)
#undef RONDO_REDUCTION_TEST

TEST(PredictableValues, EncodesEveryNumberOfANarrowFloat) {
  for (unsigned code = 0; code < 0x7c00; ++code) {
    const Float16 half{static_cast<std::uint16_t>(code)};
    ASSERT_EQ(encodeFloat(DataType::kFloat16, static_cast<double>(half.toFloat())), code);
  }
  for (unsigned code = 0; code < 0x7f; ++code) {
    const Float8E4m3 small{static_cast<std::uint8_t>(code)};
    ASSERT_EQ(encodeFloat(DataType::kFloat8E4m3, static_cast<double>(small.toFloat())), code);
  }
}

TEST(PredictableValues, RoundsToNearestEven) {
  EXPECT_EQ(encodeFloat(DataType::kBfloat16, 257.0), 0x4380U);   // 256
  EXPECT_EQ(encodeFloat(DataType::kBfloat16, 259.0), 0x4382U);   // 260
  EXPECT_EQ(encodeFloat(DataType::kFloat16, -2049.0), 0xe800U);  // -2048
}

TEST(PredictableValues, VaryWithIndexAndRank) {
  const ReductionValues values{DataType::kFloat32, ReduceOp::kSum, 4, 0};
  std::set<Word> seen;
  for (std::size_t index = 0; index < 64; ++index) {
    for (int rank = 0; rank < 4; ++rank)
      seen.insert(values.input(rank, index));
  }
  EXPECT_GT(seen.size(), 250U);
}

TEST(PredictableValues, EvenTheSmallestTypeShowsASwap) {
  const ReductionValues values{DataType::kFloat8E5m2, ReduceOp::kSum, 8, 0};
  int different = 0;
  for (std::size_t index = 0; index < 64; ++index) {
    if (values.input(0, index) != values.input(1, index)) ++different;
  }
  EXPECT_GT(different, 16);
}

std::vector<std::byte> expectedOf(const PredictableData& data, int rank, DataType type) {
  std::vector<std::byte> bytes(data.outputElems(rank) * elementBytes(type));
  data.writeExpected(rank, bytes);
  return bytes;
}

TEST(PredictableData, BlocksOfAllGatherAreTheRanksInputs) {
  constexpr std::size_t kCount = kPredictablePeriod + 5;
  const PredictableData data(
      {Collective::kAllGather, DataType::kInt16, ReduceOp::kSum, 3, 0, kCount, 0});
  std::vector<std::byte> blocks;
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<std::byte> input(data.inputElems(rank) * 2);
    data.writeInput(rank, input);
    EXPECT_EQ(data.checkInput(rank, input).wrong, 0U);
    blocks.insert(blocks.end(), input.begin(), input.end());
  }
  EXPECT_EQ(blocks, expectedOf(data, 1, DataType::kInt16));
}

TEST(PredictableData, BlocksOfReduceScatterContinueEachOther) {
  constexpr std::size_t kCount = 3000;
  const PredictableData scattered(
      {Collective::kReduceScatter, DataType::kFloat16, ReduceOp::kSum, 4, 0, kCount, 3});
  const PredictableData whole(
      {Collective::kAllReduce, DataType::kFloat16, ReduceOp::kSum, 4, 0, 4 * kCount, 3});
  std::vector<std::byte> blocks;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(scattered.inputElems(rank), 4 * kCount);
    const std::vector<std::byte> block = expectedOf(scattered, rank, DataType::kFloat16);
    blocks.insert(blocks.end(), block.begin(), block.end());
  }
  EXPECT_EQ(blocks, expectedOf(whole, 0, DataType::kFloat16));
}

TEST(PredictableData, RootsAloneHaveBuffers) {
  const PredictableData sent(
      {Collective::kBroadcast, DataType::kInt32, ReduceOp::kSum, 3, 2, 10, 0});
  EXPECT_EQ(sent.inputElems(0), 0U);
  EXPECT_EQ(sent.inputElems(2), 10U);
  EXPECT_EQ(sent.outputElems(0), 10U);
  const PredictableData reduced(
      {Collective::kReduce, DataType::kInt32, ReduceOp::kSum, 3, 2, 10, 0});
  EXPECT_EQ(reduced.inputElems(0), 10U);
  EXPECT_EQ(reduced.outputElems(0), 0U);
  EXPECT_EQ(reduced.outputElems(2), 10U);
}

TEST(PredictableData, FindsEveryWrongElement) {
  constexpr std::size_t kCount = 2 * kPredictablePeriod + 11;
  const PredictableData data(
      {Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 3, 0, kCount, 0});
  std::vector<std::byte> output = expectedOf(data, 0, DataType::kFloat32);
  EXPECT_EQ(data.checkOutput(0, output).wrong, 0U);
  for (const std::size_t element : {kPredictablePeriod - 1, kPredictablePeriod, kCount - 1}) {
    output[element * 4] ^= std::byte{1};
  }
  const Mismatch mismatch = data.checkOutput(0, output);
  EXPECT_EQ(mismatch.wrong, 3U);
  EXPECT_EQ(mismatch.first, kPredictablePeriod - 1);
}

TEST(PredictableData, SeesAShiftedBlock) {
  constexpr std::size_t kCount = 40000;
  const PredictableData data(
      {Collective::kBroadcast, DataType::kUint8, ReduceOp::kSum, 2, 0, kCount, 0});
  const std::vector<std::byte> right = expectedOf(data, 1, DataType::kUint8);
  for (const std::size_t shift : {1U, 64U, 4096U, 8192U, 16384U}) {
    std::vector<std::byte> shifted(right.begin() + static_cast<std::ptrdiff_t>(shift), right.end());
    shifted.resize(kCount);
    EXPECT_GT(data.checkOutput(1, shifted).wrong, kCount / 2) << shift;
  }
}

}  // namespace
}  // namespace rondo::perf
