// kernels/cuda/conversion.h against kernels/element.h: the same bits, and NaN for NaN. The
// conversions of halves themselves are the emulator's here, that is, those of element.h.
#include "kernels/cuda/conversion.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace rondo::testing {
namespace {

template <class T>
class Conversion : public ::testing::Test {};

using MinifloatTypes = ::testing::Types<Float16, Bfloat16, Float8E4m3, Float8E5m2>;
TYPED_TEST_SUITE(Conversion, MinifloatTypes);

TYPED_TEST(Conversion, WidensEveryCode) {
  using Bits = typename TypeParam::Bits;
  for (unsigned code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    const TypeParam element{static_cast<Bits>(code)};
    const float expected = element.toFloat();
    const float got = device::toFloat(element);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << code;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << code;
    }
  }
}

/// Checks the float whose bits are `word`.
template <class T>
void expectSameRounding(std::uint32_t word) {
  const auto value = std::bit_cast<float>(word);
  const T expected = T::fromFloat(value);
  const T got = device::roundTo<T>(value);
  if (expected.isNan()) {
    ASSERT_TRUE(got.isNan()) << value;
  } else {
    ASSERT_EQ(got.bits, expected.bits) << value;
  }
}

TYPED_TEST(Conversion, RoundsAllOverTheFloats) {
  constexpr std::uint64_t kStride = 1021;  // a prime: all low bits occur
  for (std::uint64_t word = 0; word <= 0xffffffffu; word += kStride)
    expectSameRounding<TypeParam>(static_cast<std::uint32_t>(word));
}

TYPED_TEST(Conversion, RoundsRightAtEveryBoundary) {
  using Bits = typename TypeParam::Bits;
  for (unsigned code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    const float value = TypeParam{static_cast<Bits>(code)}.toFloat();
    const float next = TypeParam{static_cast<Bits>(code + 1)}.toFloat();
    const float middle = std::isfinite(value) && std::isfinite(next) ? (value + next) / 2 : value;
    for (const float at : {value, middle}) {
      const auto word = std::bit_cast<std::uint32_t>(at);
      for (const std::uint32_t neighbour : {word - 1, word, word + 1})
        expectSameRounding<TypeParam>(neighbour);
    }
  }
}

TEST(KernelReduction, ScalesAsTheHostDoes) {
  using Host = Reduction<Float8E4m3, ReduceOp::kPreMulSum>;
  using Kernel = device::KernelReduction<Float8E4m3, ReduceOp::kPreMulSum>;
  for (unsigned code = 0; code < 0x7f; ++code) {
    const Float8E4m3 element{static_cast<std::uint8_t>(code)};
    for (const float scale : {0.0f, 0.3f, 1.0f, -0.01f}) {
      EXPECT_EQ(Kernel::widenScaled(element, scale), Host::widenScaled(element, scale)) << code;
    }
  }
}

TEST(KernelReduction, AveragesOfIntegersTruncateTowardZero) {
  using Narrow = device::KernelReduction<std::int8_t, ReduceOp::kAvg>;
  EXPECT_EQ(Narrow::divide(-7, 2), -3);
  EXPECT_EQ(Narrow::divide(std::numeric_limits<std::int32_t>::min(), 3), -715827882);
  using Wide = device::KernelReduction<std::int16_t, ReduceOp::kAvg>;
  EXPECT_EQ(Wide::divide(std::numeric_limits<std::int64_t>::min(), 3), -3074457345618258602);
}

}  // namespace
}  // namespace rondo::testing
