#include "src/cli/perf/predictable_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rondo::perf {

namespace {

/// Fields of a binary float, from the top: sign, exponent, mantissa.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
};

FloatFormat formatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10};
    case DataType::kBfloat16:
      return {8, 7};
    case DataType::kFloat32:
      return {8, 23};
    case DataType::kFloat8E4m3:
      return {4, 3};
    case DataType::kFloat8E5m2:
      return {5, 2};
    default:
      return {11, 52};
  }
}

int bitWidth(DataType type) {
  return static_cast<int>(8 * elementBytes(type));
}

Word maskOf(DataType type) {
  return ~Word{0} >> (64 - bitWidth(type));
}

bool isSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

/// The stream of bits that all ranks share.
constexpr std::uint64_t kCommonStream = ~std::uint64_t{0};

/// True for at most `most` of the ranks, others at each index: keeps sums and products in range.
bool takesPart(int rank, std::size_t index, int ranks, std::size_t most) {
  const auto n = static_cast<std::size_t>(ranks);
  return (static_cast<std::size_t>(rank) + index % n) % n < most;
}

// ---- integers: everything wraps, so that any values will do ------------------------------------

std::int64_t signExtended(DataType type, Word bits) {
  const int unused = 64 - bitWidth(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

Word integerInput(const ReductionValues& values, int rank, std::size_t index) {
  const std::uint64_t bits = mixedBits(values.seed, static_cast<std::uint64_t>(rank), index);
  if (values.op == ReduceOp::kProd) return (bits | 1) & maskOf(values.type);  // odd: never 0
  if (values.op == ReduceOp::kAvg && bitWidth(values.type) == 64) {
    // The sum of an average does not wrap: leave room for 2^24 ranks.
    if (!isSigned(values.type)) return bits >> 24;
    return static_cast<Word>(static_cast<std::int64_t>(bits) >> 24);
  }
  return bits & maskOf(values.type);
}

/// True if `a` is the smaller one.
bool isLess(DataType type, Word a, Word b) {
  return isSigned(type) ? signExtended(type, a) < signExtended(type, b) : a < b;
}

Word foldIntegers(const ReductionValues& values, Word a, Word b) {
  switch (values.op) {
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return isLess(values.type, a, b) ? a : b;
    case ReduceOp::kMax:
      return isLess(values.type, a, b) ? b : a;
    default:
      return a + b;
  }
}

Word reducedIntegers(const ReductionValues& values, std::size_t index) {
  Word folded = 0;
  for (int rank = 0; rank < values.ranks; ++rank) {
    Word value = integerInput(values, rank, index);
    if (values.op == ReduceOp::kPreMulSum) value *= values.scale(rank);
    if (values.op == ReduceOp::kAvg && isSigned(values.type)) {
      value = static_cast<Word>(signExtended(values.type, value));
    }
    folded = rank == 0 ? value : foldIntegers(values, folded, value);
  }
  if (values.op == ReduceOp::kAvg) {
    folded = isSigned(values.type)
                 ? static_cast<Word>(static_cast<std::int64_t>(folded) / values.ranks)
                 : folded / static_cast<Word>(values.ranks);
  }
  return folded & maskOf(values.type);
}

// ---- truth values -------------------------------------------------------------------------------

bool isOr(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kMax;
}

/// One rank in n + 1 decides, so that both results are common.
Word boolInput(const ReductionValues& values, int rank, std::size_t index) {
  const std::uint64_t bits = mixedBits(values.seed, static_cast<std::uint64_t>(rank), index);
  const bool decides = bits % static_cast<std::uint64_t>(values.ranks + 1) == 0;
  const Word anyTrue = 1 + (bits >> 32) % 255;
  return decides == isOr(values.op) ? anyTrue : 0;
}

Word reducedBools(const ReductionValues& values, std::size_t index) {
  bool any = false;
  bool all = true;
  for (int rank = 0; rank < values.ranks; ++rank) {
    const bool value = boolInput(values, rank, index) != 0;
    any = any || value;
    all = all && value;
  }
  return (isOr(values.op) ? any : all) ? 1 : 0;
}

// ---- floats: sums -------------------------------------------------------------------------------

double floatScale(int rank) {
  return rank % 2 == 0 ? 1.0 : 2.0;
}

/// A whole number, such that no sum of some ranks' numbers needs more bits than the type has.
std::int64_t wholeInput(const ReductionValues& values, int rank, std::size_t index) {
  constexpr int kMostBits = 24;
  const int bits = std::min(formatOf(values.type).mantissaBits + 1, kMostBits);
  const std::size_t room = std::size_t{1} << (values.op == ReduceOp::kPreMulSum ? bits - 1 : bits);
  if (!takesPart(rank, index, values.ranks, room)) return 0;
  const auto most = std::max<std::size_t>(room / static_cast<std::size_t>(values.ranks), 1);
  const std::uint64_t random = mixedBits(values.seed, static_cast<std::uint64_t>(rank), index);
  return static_cast<std::int64_t>(random % (2 * most + 1)) - static_cast<std::int64_t>(most);
}

/// What the whole numbers of element `index` are multiplied with; the same on all ranks.
double commonUnit(const ReductionValues& values, std::size_t index) {
  return static_cast<double>(1U << (mixedBits(values.seed, kCommonStream, index) % 4));
}

/// The average's division in the accumulator's type.
double averaged(DataType type, double sum, int ranks) {
  if (type == DataType::kFloat64) return sum / ranks;
  return static_cast<double>(static_cast<float>(sum) / static_cast<float>(ranks));
}

double reducedSum(const ReductionValues& values, std::size_t index) {
  double sum = 0;
  for (int rank = 0; rank < values.ranks; ++rank) {
    const auto whole = static_cast<double>(wholeInput(values, rank, index));
    sum += values.op == ReduceOp::kPreMulSum ? whole * floatScale(rank) : whole;
  }
  sum *= commonUnit(values, index);
  return values.op == ReduceOp::kAvg ? averaged(values.type, sum, values.ranks) : sum;
}

// ---- floats: products ---------------------------------------------------------------------------

/// A half, one or two, with a sign; one rank of each element has a mantissa besides.
double factorInput(const ReductionValues& values, int rank, std::size_t index) {
  // The smallest exponent of a normal number: 6 for e4m3, 14 for e5m2 and half.
  const std::size_t room = values.type == DataType::kFloat8E4m3 ? 6 : 14;
  const std::uint64_t random = mixedBits(values.seed, static_cast<std::uint64_t>(rank), index);
  const bool scales = takesPart(rank, index, values.ranks, room);
  const int exponent = scales ? static_cast<int>(random % 3) - 1 : 0;
  const double sign = (random >> 8) % 2 == 0 ? 1.0 : -1.0;
  const std::uint64_t common = mixedBits(values.seed, kCommonStream, index);
  const bool hasMantissa =
      common % static_cast<std::uint64_t>(values.ranks) == static_cast<std::uint64_t>(rank);
  const int mantissaBits = formatOf(values.type).mantissaBits;
  const std::uint64_t mantissa = hasMantissa ? common >> (64 - mantissaBits) : 0;
  const double significand = 1.0 + std::ldexp(static_cast<double>(mantissa), -mantissaBits);
  return std::ldexp(sign * significand, exponent);
}

double reducedProduct(const ReductionValues& values, std::size_t index) {
  double product = 1;
  for (int rank = 0; rank < values.ranks; ++rank) {
    product *= factorInput(values, rank, index);
  }
  return product;
}

// ---- floats: minimum and maximum ----------------------------------------------------------------

/// Any finite number, denormals and both zeros included.
Word finiteInput(const ReductionValues& values, int rank, std::size_t index) {
  const FloatFormat format = formatOf(values.type);
  const Word exponentMask = ((Word{1} << format.exponentBits) - 1) << format.mantissaBits;
  const Word topExponentBit = Word{1} << (format.exponentBits + format.mantissaBits - 1);
  const Word bits =
      mixedBits(values.seed, static_cast<std::uint64_t>(rank), index) & maskOf(values.type);
  return (bits & exponentMask) == exponentMask ? bits & ~topExponentBit : bits;
}

/// A whole number that is ordered as the floats are, -0 below +0.
Word orderKey(DataType type, Word bits) {
  const Word sign = Word{1} << (bitWidth(type) - 1);
  return (bits & sign) != 0 ? ~bits & maskOf(type) : bits | sign;
}

Word selectedFloat(const ReductionValues& values, std::size_t index) {
  Word best = finiteInput(values, 0, index);
  for (int rank = 1; rank < values.ranks; ++rank) {
    const Word value = finiteInput(values, rank, index);
    const bool less = orderKey(values.type, value) < orderKey(values.type, best);
    if (less == (values.op == ReduceOp::kMin)) best = value;
  }
  return best;
}

Word floatInput(const ReductionValues& values, int rank, std::size_t index) {
  switch (values.op) {
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return finiteInput(values, rank, index);
    case ReduceOp::kProd:
      return encodeFloat(values.type, factorInput(values, rank, index));
    default: {
      const auto whole = static_cast<double>(wholeInput(values, rank, index));
      return encodeFloat(values.type, whole * commonUnit(values, index));
    }
  }
}

Word reducedFloats(const ReductionValues& values, std::size_t index) {
  switch (values.op) {
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return selectedFloat(values, index);
    case ReduceOp::kProd:
      return encodeFloat(values.type, reducedProduct(values, index));
    default:
      return encodeFloat(values.type, reducedSum(values, index));
  }
}

std::uint64_t scrambled(std::uint64_t bits) {
  bits = (bits ^ (bits >> 31)) * 0x9fb21c651e98df25U;
  bits = (bits ^ (bits >> 29)) * 0xd6e8feb86659fd93U;
  return bits ^ (bits >> 32);
}

}  // namespace

std::uint64_t mixedBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return scrambled(scrambled(scrambled(seed + 1) ^ (stream + 1)) ^ index);
}

Word encodeFloat(DataType type, double value) {
  if (type == DataType::kFloat64) return std::bit_cast<Word>(value);
  if (type == DataType::kFloat32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const FloatFormat format = formatOf(type);
  const Word sign = std::signbit(value) ? Word{1} << (bitWidth(type) - 1) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // Counted in units of the last place; the leading one, where there is one, raises the exponent.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  const auto exponentField = static_cast<Word>(exponent + bias - 1) << format.mantissaBits;
  return sign | (exponentField + static_cast<Word>(units));
}

Word movedElement(DataType type, std::uint64_t seed, int rank, std::size_t index) {
  const std::uint64_t bits = mixedBits(seed, static_cast<std::uint64_t>(rank), index);
  return type == DataType::kBool ? bits & 1 : bits & maskOf(type);
}

Word ReductionValues::input(int rank, std::size_t index) const {
  if (type == DataType::kBool) return boolInput(*this, rank, index);
  return isFloat(type) ? floatInput(*this, rank, index) : integerInput(*this, rank, index);
}

Word ReductionValues::reduced(std::size_t index) const {
  if (type == DataType::kBool) return reducedBools(*this, index);
  return isFloat(type) ? reducedFloats(*this, index) : reducedIntegers(*this, index);
}

Word ReductionValues::scale(int rank) const {
  if (isFloat(type)) return encodeFloat(type, floatScale(rank));
  return static_cast<Word>(rank % 3 + 1);
}

}  // namespace rondo::perf
