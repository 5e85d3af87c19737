// The element types that C++ lacks (16- and 8-bit floats, truth values) and the arithmetic of one
// element: what a reduction of (type, operation) does, for the host and for the device. This scalar
// code is the definition; every vectorised or CUDA loop must give the same bits (NaN payloads
// aside). The rules in prose: docs/numerics.md. The host loops: kernels/host/combine.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/data_type.h"
#include "kernels/portability.h"

namespace rondo {

namespace detail {

/// std::bit_cast that device code may call too.
template <class To, class From>
RONDO_HD constexpr To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// 2 to the power `exponent`, for exponents whose result is a normal fp32 number.
RONDO_HD constexpr float exp2OfInt(int exponent) {
  return bitCast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// `significand` * 2^-`shift`, rounded to nearest, ties to even.
/// @param significand below 2^24
/// @param shift       1 or more
RONDO_HD constexpr std::uint32_t shiftRightToEven(std::uint32_t significand, int shift) {
  if (shift > 24) return 0;  // below half a unit
  const std::uint32_t quotient = significand >> shift;
  const std::uint32_t remainder = significand & ((1u << shift) - 1);
  const std::uint32_t half = 1u << (shift - 1);
  const bool up = remainder > half || (remainder == half && (quotient & 1u) != 0);
  return quotient + (up ? 1u : 0u);
}

}  // namespace detail

/// A binary float of 8 or 16 bits: sign, exponent, mantissa from the top bit down, with denormals.
/// Only raw bits; arithmetic happens in fp32 (or on the bits, for min and max).
/// @tparam kHasInfinity true: the highest exponent holds infinity and NaN, as in IEEE 754. False:
/// it
///   holds numbers, and only all ones is NaN (the OCP "fn" formats).
template <class BitsType, int kExponentBitCount, int kMantissaBitCount, bool kHasInfinity>
struct Minifloat {
  using Bits = BitsType;

  static constexpr int kExponentBits = kExponentBitCount;
  static constexpr int kMantissaBits = kMantissaBitCount;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  /// Bits of fp32's mantissa that this type lacks.
  static constexpr int kDroppedBits = 23 - kMantissaBits;
  static constexpr std::uint32_t kSignBit = 1u << (kExponentBits + kMantissaBits);
  /// Without the sign: the largest finite number, what overflow becomes, and the NaN we make.
  static constexpr std::uint32_t kMaxFinite =
      kHasInfinity ? (((1u << kExponentBits) - 1) << kMantissaBits) - 1 : kSignBit - 2;
  static constexpr std::uint32_t kOverflow =
      kMaxFinite + 1;  // infinity, or NaN where there is none
  static constexpr std::uint32_t kQuietNan =
      kHasInfinity ? kOverflow | (1u << (kMantissaBits - 1)) : kOverflow;
  /// Without the sign: the largest code that is not NaN.
  static constexpr std::uint32_t kMaxNumber = kHasInfinity ? kOverflow : kMaxFinite;

  Bits bits;

  /// Rounds to nearest, ties to even. Too large becomes infinity, or NaN in a type without one
  /// (never the largest number: a wrong value must not look right). NaN stays NaN.
  RONDO_HD static constexpr Minifloat fromFloat(float value) {
    const auto word = detail::bitCast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 31) != 0 ? kSignBit : 0;
    return Minifloat{static_cast<Bits>(sign | encodeMagnitude(word & 0x7fffffffu))};
  }

  /// Exact.
  RONDO_HD constexpr float toFloat() const {
    const std::uint32_t magnitude = bits & (kSignBit - 1);
    const std::uint32_t sign = (bits & kSignBit) != 0 ? 0x80000000u : 0;
    return detail::bitCast<float>(sign | decodeMagnitude(magnitude));
  }

  RONDO_HD constexpr bool isNan() const { return (bits & (kSignBit - 1)) > kMaxNumber; }

  /// Numbers have the order of these, -0 below +0; of NaN it means nothing.
  RONDO_HD constexpr std::int32_t order() const {
    const auto magnitude = static_cast<std::int32_t>(bits & (kSignBit - 1));
    return (bits & kSignBit) != 0 ? -1 - magnitude : magnitude;
  }

 private:
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kMinNormalAsFloat = kRebias + (1u << 23);

  /// @param magnitude the bits of a float without its sign
  RONDO_HD static constexpr std::uint32_t encodeMagnitude(std::uint32_t magnitude) {
    if (magnitude > 0x7f800000u) return kQuietNan;
    if (magnitude < kMinNormalAsFloat) {
      const auto exponent = static_cast<int>(magnitude >> 23);
      const std::uint32_t fraction = magnitude & 0x7fffffu;
      const std::uint32_t significand = exponent != 0 ? fraction | 0x800000u : fraction;
      const int exponentOrOne = exponent != 0 ? exponent : 1;
      return detail::shiftRightToEven(significand,
                                      kDroppedBits + (127 - kBias) + 1 - exponentOrOne);
    }
    const std::uint32_t rebiased = magnitude - kRebias;
    const std::uint32_t odd = (rebiased >> kDroppedBits) & 1u;
    const std::uint32_t justBelowHalf = (1u << (kDroppedBits - 1)) - 1;
    const std::uint32_t code = (rebiased + justBelowHalf + odd) >> kDroppedBits;
    return code > kMaxFinite ? kOverflow : code;
  }

  RONDO_HD static constexpr std::uint32_t decodeMagnitude(std::uint32_t magnitude) {
    if constexpr (kExponentBits == 8) {
      return magnitude << kDroppedBits;
    } else {
      if (magnitude > kMaxNumber) return 0x7fc00000u;
      if (kHasInfinity && magnitude == kOverflow) return 0x7f800000u;
      if ((magnitude >> kMantissaBits) != 0) return (magnitude << kDroppedBits) + kRebias;
      // A denormal; the product is exact and normal, so no rounding or flush mode can touch it.
      return detail::bitCast<std::uint32_t>(static_cast<float>(magnitude) *
                                            detail::exp2OfInt(1 - kBias - kMantissaBits));
    }
  }
};

using Float16 = Minifloat<std::uint16_t, 5, 10, true>;
using Bfloat16 = Minifloat<std::uint16_t, 8, 7, true>;
/// OCP e4m3fn: largest number 448, no infinity, NaN is 0x7f and 0xff.
using Float8E4m3 = Minifloat<std::uint8_t, 4, 3, false>;
using Float8E5m2 = Minifloat<std::uint8_t, 5, 2, true>;

static_assert(std::is_trivially_copyable_v<Float16> && sizeof(Float16) == 2);
static_assert(std::is_trivially_copyable_v<Float8E4m3> && sizeof(Float8E4m3) == 1);

/// A truth value: any nonzero byte is true; results are 0 or 1.
struct Bool {
  std::uint8_t bits;
};

/// True for the types of isNarrowFloat().
template <class T>
inline constexpr bool kIsMinifloat = false;
template <class Bits, int kExponentBits, int kMantissaBits, bool kHasInfinity>
inline constexpr bool kIsMinifloat<Minifloat<Bits, kExponentBits, kMantissaBits, kHasInfinity>> =
    true;

namespace detail {

template <DataType kType>
struct ElementSelector;
#define RONDO_ELEMENT(name, cppType, bytes, text) \
  template <>                                     \
  struct ElementSelector<DataType::k##name> {     \
    using Type = cppType;                         \
    static_assert(sizeof(cppType) == (bytes));    \
  };
RONDO_FOR_EACH_DATA_TYPE(RONDO_ELEMENT)
#undef RONDO_ELEMENT

template <class T, ReduceOp kOp>
struct AccumulatorSelector {
  static constexpr bool kSelects = kOp == ReduceOp::kMin || kOp == ReduceOp::kMax;
  using Int64 = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  using ForSums = std::conditional_t<
      kIsMinifloat<T>,
      float,
      std::conditional_t<std::is_integral_v<T> && kOp == ReduceOp::kAvg, Int64, T>>;
  using Type = std::conditional_t<kSelects, T, ForSums>;
};

}  // namespace detail

/// The C++ type of an element of `kType`.
template <DataType kType>
using ElementOf = typename detail::ElementSelector<kType>::Type;

/// The type that the partial results of (T, kOp) are carried in; accumulatorBytes() is its size.
template <class T, ReduceOp kOp>
using AccumulatorOf = typename detail::AccumulatorSelector<T, kOp>::Type;

namespace detail {

/// The unsigned type in which T's arithmetic wraps without promotion to a signed int.
template <class T>
using WrapType =
    std::conditional_t<(sizeof(T) < sizeof(std::uint32_t)), std::uint32_t, std::make_unsigned_t<T>>;

template <class T>
RONDO_HD constexpr T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<WrapType<T>>(a) + static_cast<WrapType<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
RONDO_HD constexpr T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<WrapType<T>>(a) * static_cast<WrapType<T>>(b));
  } else {
    return a * b;
  }
}

RONDO_HD constexpr bool signBit(float value) {
  return (bitCast<std::uint32_t>(value) >> 31) != 0;
}

RONDO_HD constexpr bool signBit(double value) {
  return (bitCast<std::uint64_t>(value) >> 63) != 0;
}

/// The rule of min and max: NaN wins on either side; -0 < +0.
/// @return true if min(a, b) is `a` (and so max(a, b) is `b`), for values that are not NaN.
template <class T>
RONDO_HD constexpr bool isBelow(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (a == b && signBit(a));
  } else {
    return a < b;
  }
}

/// The smaller of two values, or the greater.
template <bool kGreater, class T>
RONDO_HD constexpr T select(T a, T b) {
  if constexpr (kIsMinifloat<T>) {
    if (a.isNan()) return a;
    if (b.isNan()) return b;
    return isBelow(a.order(), b.order()) != kGreater ? a : b;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
    }
    return isBelow(a, b) != kGreater ? a : b;
  }
}

}  // namespace detail

/// One element under operation `kOp`: widen the sources, fold them in order, narrow the result.
/// The first source is where the fold starts; there is no neutral element. Average and premulsum
/// fold as sum does. Used by the host loops and, later, by device code.
template <class T, ReduceOp kOp>
struct Reduction {
  using Element = T;
  using Accumulator = AccumulatorOf<T, kOp>;
  /// The type of premulsum's factor.
  using Scale = AccumulatorOf<T, ReduceOp::kPreMulSum>;

  /// Exact.
  RONDO_HD static constexpr Accumulator widen(T value) {
    if constexpr (std::is_same_v<Accumulator, T>) {
      return value;
    } else if constexpr (kIsMinifloat<T>) {
      return value.toFloat();
    } else {
      return static_cast<Accumulator>(value);
    }
  }

  /// Premulsum's contribution: the product in the accumulator's type, rounded to T.
  RONDO_HD static constexpr Accumulator widenScaled(T value, Scale scale) {
    const Scale product = detail::multiply(Reduction<T, ReduceOp::kPreMulSum>::widen(value), scale);
    return widen(Reduction<T, ReduceOp::kPreMulSum>::narrow(product));
  }

  /// One step of the fold: `a` is what came before, `b` the next source.
  RONDO_HD static constexpr Accumulator fold(Accumulator a, Accumulator b) {
    if constexpr (kOp == ReduceOp::kProd) {
      return detail::multiply(a, b);
    } else if constexpr (kOp == ReduceOp::kMin || kOp == ReduceOp::kMax) {
      return detail::select<kOp == ReduceOp::kMax>(a, b);
    } else {
      return detail::add(a, b);
    }
  }

  /// Average's last step: one IEEE division; integers truncate toward zero.
  /// @param divisor 1 to 2^31 - 1 (a number of ranks)
  RONDO_HD static constexpr Accumulator divide(Accumulator value, std::uint64_t divisor) {
    if constexpr (std::is_arithmetic_v<Accumulator>) {
      return static_cast<Accumulator>(value / static_cast<Accumulator>(divisor));
    } else {
      return value;
    }
  }

  /// The one rounding of a narrow float; an average of integers fits by itself.
  RONDO_HD static constexpr T narrow(Accumulator value) {
    if constexpr (std::is_same_v<Accumulator, T>) {
      return value;
    } else if constexpr (kIsMinifloat<T>) {
      return T::fromFloat(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

/// Truth values: sum and max are "or", prod and min are "and".
template <ReduceOp kOp>
struct Reduction<Bool, kOp> {
  static_assert(isReducible(DataType::kBool, kOp));

  using Element = Bool;
  using Accumulator = Bool;
  using Scale = Bool;

  RONDO_HD static constexpr Bool widen(Bool value) {
    return Bool{static_cast<std::uint8_t>(value.bits != 0 ? 1 : 0)};
  }

  RONDO_HD static constexpr Bool fold(Bool a, Bool b) {
    constexpr bool kIsOr = kOp == ReduceOp::kSum || kOp == ReduceOp::kMax;
    const bool left = a.bits != 0;
    const bool right = b.bits != 0;
    return Bool{static_cast<std::uint8_t>((kIsOr ? left || right : left && right) ? 1 : 0)};
  }

  RONDO_HD static constexpr Bool narrow(Bool value) { return value; }
};

}  // namespace rondo
