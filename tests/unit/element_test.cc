// Conversions of the narrow floats, exhaustively or against naive_arithmetic.h, and the parts of
// Reduction that combine_test.cc does not reach through the loops.
#include "kernels/element.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "tests/unit/naive_arithmetic.h"

namespace rondo::testing {

namespace {

// What a device compiler must be able to evaluate, a host compiler can at compile time.
static_assert(Float16::fromFloat(1.0f).bits == 0x3c00);
static_assert(Float16::fromFloat(65519.0f).bits == 0x7bff);
static_assert(Float16::fromFloat(65520.0f).bits == 0x7c00);
static_assert(Bfloat16::fromFloat(-1.0f).bits == 0xbf80);
static_assert(Float8E4m3::fromFloat(464.0f).bits == 0x7e);
static_assert(Float8E4m3::fromFloat(464.5f).bits == 0x7f);
static_assert(Float8E4m3{0x01}.toFloat() == 0.001953125f);
static_assert(Float8E5m2::fromFloat(61440.0f).bits == 0x7c);
static_assert(Reduction<std::int8_t, ReduceOp::kSum>::fold(120, 100) == -36);
static_assert(Reduction<std::int16_t, ReduceOp::kProd>::fold(-32768, -32768) == 0);
static_assert(Reduction<std::int64_t, ReduceOp::kSum>::fold(INT64_MAX, 1) == INT64_MIN);
static_assert(Reduction<std::int32_t, ReduceOp::kAvg>::divide(-10, 4) == -2);
static_assert(std::is_same_v<AccumulatorOf<std::int8_t, ReduceOp::kAvg>, std::int64_t>);
static_assert(std::is_same_v<AccumulatorOf<std::uint32_t, ReduceOp::kAvg>, std::uint64_t>);
static_assert(std::is_same_v<AccumulatorOf<Float16, ReduceOp::kMax>, Float16>);
static_assert(std::is_same_v<AccumulatorOf<Bfloat16, ReduceOp::kPreMulSum>, float>);
static_assert(std::is_same_v<AccumulatorOf<double, ReduceOp::kAvg>, double>);

template <class Float>
constexpr DataType kTypeOf = DataType::kFloat16;
template <>
constexpr DataType kTypeOf<Bfloat16> = DataType::kBfloat16;
template <>
constexpr DataType kTypeOf<Float8E4m3> = DataType::kFloat8E4m3;
template <>
constexpr DataType kTypeOf<Float8E5m2> = DataType::kFloat8E5m2;

template <class Float>
class MinifloatTest : public ::testing::Test {
 protected:
  static inline const NaiveFormat kFormat = naiveFormatOf(kTypeOf<Float>);
  static constexpr Word kCodes = Word{1} << (8 * sizeof(Float));

  static Float fromCode(Word code) { return Float{static_cast<typename Float::Bits>(code)}; }

  static void expectSameEncoding(float value) {
    const Word got = Float::fromFloat(value).bits;
    const Word expected = encodeNaive(kFormat, static_cast<long double>(value));
    if (std::isnan(decodeNaive(kFormat, expected))) {
      EXPECT_TRUE(Float::fromFloat(value).isNan()) << value;
      EXPECT_EQ(std::signbit(Float::fromFloat(value).toFloat()), std::signbit(value)) << value;
    } else {
      EXPECT_EQ(got, expected) << value << " bits " << std::bit_cast<std::uint32_t>(value);
    }
  }
};

using MinifloatTypes = ::testing::Types<Float16, Bfloat16, Float8E4m3, Float8E5m2>;
TYPED_TEST_SUITE(MinifloatTest, MinifloatTypes);

TYPED_TEST(MinifloatTest, EveryCodeDecodesAndComesBack) {
  for (Word code = 0; code < this->kCodes; ++code) {
    const TypeParam element = this->fromCode(code);
    const long double expected = decodeNaive(this->kFormat, code);
    EXPECT_EQ(element.isNan(), std::isnan(expected)) << code;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(element.toFloat())) << code;
      EXPECT_TRUE(TypeParam::fromFloat(element.toFloat()).isNan()) << code;
      continue;
    }
    EXPECT_EQ(static_cast<long double>(element.toFloat()), expected) << code;
    EXPECT_EQ(std::signbit(element.toFloat()), std::signbit(expected)) << code;
    EXPECT_EQ(TypeParam::fromFloat(element.toFloat()).bits, code);
  }
}

/// The points between neighbours, where ties are, and one fp32 step to either side of each.
TYPED_TEST(MinifloatTest, RoundsToNearestEvenAtEveryTie) {
  for (Word code = 0; code < TypeParam::kMaxFinite; ++code) {
    const long double low = decodeNaive(this->kFormat, code);
    const long double high = decodeNaive(this->kFormat, code + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float value : {std::nextafter(middle, 0.0f), middle,
                              std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      this->expectSameEncoding(value);
      this->expectSameEncoding(-value);
    }
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(MinifloatTest, OverflowsToInfinityOrNan) {
  const auto largest = static_cast<float>(decodeNaive(this->kFormat, TypeParam::kMaxFinite));
  const auto before = static_cast<float>(decodeNaive(this->kFormat, TypeParam::kMaxFinite - 1));
  const float tie = largest + (largest - before) / 2;  // infinite for bfloat16: beyond fp32
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value :
       {largest, std::nextafter(tie, 0.0f), tie, std::nextafter(tie, infinity), largest * 2,
        std::numeric_limits<float>::max(), infinity, std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::signaling_NaN()}) {
    this->expectSameEncoding(value);
    this->expectSameEncoding(-value);
  }
}

TYPED_TEST(MinifloatTest, EncodesRandomFloats) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const Word words = random();
    this->expectSameEncoding(std::bit_cast<float>(static_cast<std::uint32_t>(words)));
    // The same, with the exponent in the range of the type.
    const std::uint32_t near =
        (static_cast<std::uint32_t>(words >> 32) & 0x87ffffffu) + 0x3c000000u;
    this->expectSameEncoding(std::bit_cast<float>(near));
    if (this->HasFailure()) return;
  }
}

TEST(AccumulatorBytes, AgreesWithTheAccumulatorsType) {
  // combine_scalar.cc asserts it for every pair; here one of each kind, so that it is seen to run.
  EXPECT_EQ(accumulatorBytes(DataType::kInt8, ReduceOp::kAvg), sizeof(std::int64_t));
  EXPECT_EQ(accumulatorBytes(DataType::kFloat16, ReduceOp::kSum), sizeof(float));
  EXPECT_EQ(accumulatorBytes(DataType::kFloat8E4m3, ReduceOp::kMin), 1u);
}

TEST(ReductionOfFloats, PropagatesNanFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Min = Reduction<float, ReduceOp::kMin>;
  using Max = Reduction<float, ReduceOp::kMax>;
  EXPECT_TRUE(std::isnan(Min::fold(nan, 1.0f)) && std::isnan(Min::fold(1.0f, nan)));
  EXPECT_TRUE(std::isnan(Max::fold(nan, 1.0f)) && std::isnan(Max::fold(1.0f, nan)));
}

TEST(ReductionOfFloats, OrdersTheZeros) {
  using Min = Reduction<double, ReduceOp::kMin>;
  using Max = Reduction<double, ReduceOp::kMax>;
  EXPECT_TRUE(std::signbit(Min::fold(-0.0, 0.0)) && std::signbit(Min::fold(0.0, -0.0)));
  EXPECT_FALSE(std::signbit(Max::fold(-0.0, 0.0)) || std::signbit(Max::fold(0.0, -0.0)));
}

TEST(ReductionOfPremulsum, RoundsTheProductToTheElementFirst) {
  using R = Reduction<Float16, ReduceOp::kPreMulSum>;
  // 2049 is no half-precision number: 683 * 3 is rounded to 2048 before it is added.
  const float product = R::widenScaled(Float16::fromFloat(683.0f), 3.0f);
  EXPECT_EQ(product, 2048.0f);
  EXPECT_EQ((Reduction<std::uint8_t, ReduceOp::kPreMulSum>::widenScaled(200, 3)), 88);
}

}  // namespace

}  // namespace rondo::testing
