#include "tests/unit/naive_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

namespace rondo::testing {

namespace {

using host::Form;

__extension__ using Int128 = __int128;
__extension__ using Float128 = __float128;

Word signBitOf(const NaiveFormat& format) {
  return Word{1} << (format.exponentBits + format.mantissaBits);
}

/// The values of codes 0, 1, 2, ... without a sign, up to the largest finite one and, last, the
/// value that the next code would have if it were one more finite number.
std::vector<long double> makeMagnitudes(const NaiveFormat& format) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int highestExponent = (1 << format.exponentBits) - 1;
  const int mantissas = 1 << format.mantissaBits;
  std::vector<long double> values;
  for (int exponent = 0; exponent <= highestExponent; ++exponent) {
    for (int mantissa = 0; mantissa < mantissas; ++mantissa) {
      const int significand = exponent == 0 ? mantissa : mantissas + mantissa;
      const int power = std::max(exponent, 1) - bias - format.mantissaBits;
      values.push_back(std::ldexp(static_cast<long double>(significand), power));
      const bool isPastTheEnd = format.hasInfinity
                                    ? exponent == highestExponent
                                    : exponent == highestExponent && mantissa == mantissas - 1;
      if (isPastTheEnd) return values;
    }
  }
  return values;
}

const std::vector<long double>& magnitudesOf(const NaiveFormat& format) {
  using Key = std::tuple<int, int, bool>;
  static std::map<Key, std::vector<long double>> tables;
  auto& table = tables[Key(format.exponentBits, format.mantissaBits, format.hasInfinity)];
  if (table.empty()) table = makeMagnitudes(format);
  return table;
}

int bitsOf(DataType type) {
  return static_cast<int>(elementBytes(type)) * 8;
}

bool isSignedInteger(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

/// `value` modulo 2^`bits`, as a number of the signed or unsigned range.
Int128 wrap(Int128 value, int bits, bool isSigned) {
  const Int128 modulus = Int128{1} << bits;
  Int128 result = value % modulus;
  if (result < 0) result += modulus;
  if (isSigned && result >= modulus / 2) result -= modulus;
  return result;
}

Word lowBits(Int128 value, int bits) {
  const auto word = static_cast<Word>(value);
  return bits == 64 ? word : word & ((Word{1} << bits) - 1);
}

Int128 foldIntegers(ReduceOp op, Int128 a, Int128 b) {
  switch (op) {
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return a < b ? a : b;
    case ReduceOp::kMax:
      return a > b ? a : b;
    default:
      return a + b;
  }
}

Word combineIntegers(DataType type,
                     ReduceOp op,
                     std::span<const Contribution> contributions,
                     std::uint64_t divisor,
                     Word scaleBits,
                     Form targetForm) {
  const bool isSigned = isSignedInteger(type);
  const int bits = bitsOf(type);
  const int sumBits = op == ReduceOp::kAvg ? 64 : bits;
  Int128 sum = 0;
  bool isFirst = true;
  for (const Contribution& contribution : contributions) {
    const int width = contribution.form == Form::kAccumulator ? sumBits : bits;
    Int128 value = wrap(static_cast<Int128>(contribution.bits), width, isSigned);
    if (contribution.form == Form::kScaled) {
      const Int128 scale = wrap(static_cast<Int128>(scaleBits), bits, isSigned);
      // The product of two unsigned 64-bit numbers does not fit; modulo 2^64 it is the same.
      value = wrap(wrap(value, bits, true) * wrap(scale, bits, true), bits, isSigned);
    }
    const bool narrowFirst = op == ReduceOp::kProd;
    if (narrowFirst) value = wrap(value, sumBits, true);
    sum = isFirst ? value : foldIntegers(op, narrowFirst ? wrap(sum, sumBits, true) : sum, value);
    sum = wrap(sum, sumBits, isSigned);
    isFirst = false;
  }
  if (divisor > 0) sum /= static_cast<Int128>(divisor);
  return lowBits(sum, targetForm == Form::kAccumulator ? sumBits : bits);
}

/// How floats of one type are read and written: its own bits, and the accumulator's.
template <class Sum>
struct FloatModel {
  DataType type;

  Sum read(Word bits, Form form) const {
    if (form != Form::kAccumulator && isNarrowFloat(type)) {
      return static_cast<Sum>(decodeNaive(naiveFormatOf(type), bits));
    }
    if constexpr (sizeof(Sum) == 4) {
      return std::bit_cast<Sum>(static_cast<std::uint32_t>(bits));
    } else {
      return std::bit_cast<Sum>(bits);
    }
  }

  Word write(Sum value, Form form) const {
    if (form != Form::kAccumulator && isNarrowFloat(type)) {
      return encodeNaive(naiveFormatOf(type), static_cast<long double>(value));
    }
    if constexpr (sizeof(Sum) == 4) {
      return std::bit_cast<std::uint32_t>(value);
    } else {
      return std::bit_cast<std::uint64_t>(value);
    }
  }
};

template <class Value>
Value selectFloats(ReduceOp op, Value a, Value b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Value>::quiet_NaN();
  const bool aIsLower = a == b ? std::signbit(a) : a < b;
  return aIsLower == (op == ReduceOp::kMin) ? a : b;
}

/// @tparam Wide has more than twice the bits of Sum, so that rounding its results to Sum is the
/// same
///   as rounding once.
template <class Sum, class Wide>
Sum foldFloats(ReduceOp op, Sum a, Sum b) {
  if (op == ReduceOp::kMin || op == ReduceOp::kMax) return selectFloats(op, a, b);
  const Wide left = a;
  const Wide right = b;
  return static_cast<Sum>(op == ReduceOp::kProd ? left * right : left + right);
}

template <class Sum, class Wide>
Word combineFloats(DataType type,
                   ReduceOp op,
                   std::span<const Contribution> contributions,
                   std::uint64_t divisor,
                   Word scaleBits,
                   Form targetForm) {
  const FloatModel<Sum> model{type};
  // Minima and maxima of narrow floats travel as the elements they are.
  const bool isSelection = op == ReduceOp::kMin || op == ReduceOp::kMax;
  const auto formOf = [&](Form form) { return isSelection ? Form::kNative : form; };
  Sum sum = 0;
  bool isFirst = true;
  for (const Contribution& contribution : contributions) {
    Sum value = model.read(contribution.bits, formOf(contribution.form));
    if (contribution.form == Form::kScaled) {
      const Wide product = Wide{value} * Wide{model.read(scaleBits, Form::kAccumulator)};
      value = model.read(model.write(static_cast<Sum>(product), Form::kNative), Form::kNative);
    }
    sum = isFirst ? value : foldFloats<Sum, Wide>(op, sum, value);
    isFirst = false;
  }
  if (divisor > 0) sum = static_cast<Sum>(Wide{sum} / static_cast<Wide>(divisor));
  return model.write(sum, formOf(targetForm));
}

Word combineBools(ReduceOp op, std::span<const Contribution> contributions) {
  const bool isOr = op == ReduceOp::kSum || op == ReduceOp::kMax;
  const auto isTrue = [](const Contribution& contribution) { return contribution.bits != 0; };
  const bool result = isOr ? std::any_of(contributions.begin(), contributions.end(), isTrue)
                           : std::all_of(contributions.begin(), contributions.end(), isTrue);
  return result ? 1 : 0;
}

}  // namespace

long double decodeNaive(const NaiveFormat& format, Word code) {
  const Word sign = signBitOf(format);
  const Word magnitude = code & (sign - 1);
  const auto& values = magnitudesOf(format);
  const Word pastTheEnd = values.size() - 1;
  long double value = 0;
  if (magnitude < pastTheEnd) {
    value = values[magnitude];
  } else if (format.hasInfinity && magnitude == pastTheEnd) {
    value = std::numeric_limits<long double>::infinity();
  } else {
    value = std::numeric_limits<long double>::quiet_NaN();
  }
  return (code & sign) != 0 ? -value : value;
}

Word encodeNaive(const NaiveFormat& format, long double value) {
  const auto& values = magnitudesOf(format);
  const Word sign = std::signbit(value) ? signBitOf(format) : 0;
  const long double magnitude = std::fabs(value);
  const Word pastTheEnd = values.size() - 1;
  if (std::isnan(value)) return sign | (signBitOf(format) - 1);
  if (magnitude >= values[pastTheEnd]) return sign | pastTheEnd;
  const auto above = std::upper_bound(values.begin(), values.end(), magnitude);
  const auto high = static_cast<Word>(above - values.begin());
  const Word low = high - 1;
  const long double toLow = magnitude - values[low];
  const long double toHigh = values[high] - magnitude;
  if (toLow == toHigh) return sign | (low % 2 == 0 ? low : high);
  return sign | (toLow < toHigh ? low : high);
}

NaiveFormat naiveFormatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, true};
    case DataType::kBfloat16:
      return {8, 7, true};
    case DataType::kFloat8E4m3:
      return {4, 3, false};
    case DataType::kFloat8E5m2:
      return {5, 2, true};
    default:
      return {};
  }
}

Word naiveCombine(DataType type,
                  ReduceOp op,
                  std::span<const Contribution> contributions,
                  std::uint64_t divisor,
                  Word scaleBits,
                  Form targetForm) {
  if (type == DataType::kBool) return combineBools(op, contributions);
  if (type == DataType::kFloat64) {
    return combineFloats<double, Float128>(type, op, contributions, divisor, scaleBits, targetForm);
  }
  if (isFloat(type)) {
    return combineFloats<float, long double>(type, op, contributions, divisor, scaleBits,
                                             targetForm);
  }
  return combineIntegers(type, op, contributions, divisor, scaleBits, targetForm);
}

bool isNaiveNan(DataType type, ReduceOp op, Form form, Word bits) {
  if (!isFloat(type)) return false;
  const bool isSelection = op == ReduceOp::kMin || op == ReduceOp::kMax;
  if (isNarrowFloat(type) && (form != Form::kAccumulator || isSelection)) {
    return std::isnan(decodeNaive(naiveFormatOf(type), bits));
  }
  if (type == DataType::kFloat64) return std::isnan(std::bit_cast<double>(bits));
  return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

std::size_t formBytes(DataType type, ReduceOp op, Form form) {
  return form == Form::kAccumulator ? accumulatorBytes(type, op) : elementBytes(type);
}

}  // namespace rondo::testing
