// Narrow floats in a kernel: the bits of kernels/element.h (NaN payloads aside) in a tenth of the
// instructions. A GPU converts halves by itself, and an 8-bit float is a half but for its place.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device.h"
#include "kernels/element.h"

namespace rondo::device {

RONDO_DEVICE float toFloat(Float16 value) {
  return halfToFloat(value.bits);
}

RONDO_DEVICE float toFloat(Bfloat16 value) {
  return value.toFloat();  // a shift
}

/// The upper byte of a half is this type.
RONDO_DEVICE float toFloat(Float8E5m2 value) {
  return halfToFloat(static_cast<std::uint16_t>(value.bits << 8));
}

/// With a mantissa as a half's the exponent is short by the difference of the biases, 8; denormals
/// included. What would be the largest exponent of a half never occurs.
RONDO_DEVICE float toFloat(Float8E4m3 value) {
  const unsigned sign = value.bits & Float8E4m3::kSignBit;
  const unsigned magnitude = value.bits & (Float8E4m3::kSignBit - 1);
  if (value.isNan()) return detail::bitCast<float>(sign << 24 | 0x7fc00000u);
  return halfToFloat(static_cast<std::uint16_t>(sign << 8 | magnitude << 7)) * 256.0f;
}

/// Rounds to nearest, ties to even. Normal numbers are rounded on the bits; for a denormal the
/// addition of a number whose last place is the denormal's does it.
template <class T>
RONDO_DEVICE T roundTo(float value) {
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - T::kBias) << 23;
  constexpr std::uint32_t kJustBelowHalf = (1u << (T::kDroppedBits - 1)) - 1;
  const auto word = detail::bitCast<std::uint32_t>(value);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  const std::uint32_t rebiased = magnitude - kRebias;
  const std::uint32_t odd = (rebiased >> T::kDroppedBits) & 1u;
  std::uint32_t code = (rebiased + kJustBelowHalf + odd) >> T::kDroppedBits;
  // With fp32's exponent denormals are fp32's, too, and are rounded on the bits as well.
  if constexpr (kRebias != 0) {
    if (magnitude < kRebias + (1u << 23)) {
      constexpr float kShifter = detail::exp2OfInt(24 - T::kBias - T::kMantissaBits);
      code = detail::bitCast<std::uint32_t>(detail::bitCast<float>(magnitude) + kShifter) -
             detail::bitCast<std::uint32_t>(kShifter);
    }
  }
  if (code > T::kMaxFinite) code = T::kOverflow;
  if (magnitude > 0x7f800000u) code = T::kQuietNan;
  const std::uint32_t sign = (word >> 31) != 0 ? T::kSignBit : 0;
  return T{static_cast<typename T::Bits>(sign | code)};
}

template <>
RONDO_DEVICE Float16 roundTo<Float16>(float value) {
  return Float16{floatToHalf(value)};
}

/// Out of line: divisions are long pieces of software, and there are up to 16 in a row.
template <class Integer>
RONDO_DEVICE_OUTLINE Integer quotient(Integer dividend, Integer divisor) {
  return dividend / divisor;
}

/// Reduction of kernels/element.h as kernels compute it: `Sum` is what an accumulator is in
/// registers.
template <class T, ReduceOp kOp>
struct KernelReduction : Reduction<T, kOp> {
  using Sum = AccumulatorOf<T, kOp>;
};

/// Integers whose sums are carried in 64 bits. Those of 8 bits fit 32 for the first 2^24 ranks, and
/// take half the registers, of which 16 sums of 64 bits would leave too few for anything else.
template <class T>
requires std::is_integral_v<T>

struct KernelReduction<T, ReduceOp::kAvg> : Reduction<T, ReduceOp::kAvg> {
  using Sum32 = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  using Sum = std::conditional_t<sizeof(T) == 1, Sum32, AccumulatorOf<T, ReduceOp::kAvg>>;

  RONDO_DEVICE static Sum widen(T value) { return static_cast<Sum>(value); }

  RONDO_DEVICE static Sum fold(Sum a, Sum b) { return rondo::detail::add(a, b); }

  RONDO_DEVICE static Sum divide(Sum value, std::uint64_t divisor) {
    return quotient(value, static_cast<Sum>(divisor));
  }

  RONDO_DEVICE static T narrow(Sum value) { return static_cast<T>(value); }
};

/// Narrow floats whose sums are carried in fp32.
template <class T, ReduceOp kOp>

requires(kIsMinifloat<T>&& std::is_same_v<AccumulatorOf<T, kOp>, float>)  //
    struct KernelReduction<T, kOp> : Reduction<T, kOp> {
  using Sum = float;

  RONDO_DEVICE static float widen(T value) { return toFloat(value); }

  RONDO_DEVICE static float widenScaled(T value, float scale) {
    return toFloat(roundTo<T>(toFloat(value) * scale));
  }

  RONDO_DEVICE static T narrow(float value) { return roundTo<T>(value); }
};

}  // namespace rondo::device
