#include "tests/collective/reference.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>
#include <type_traits>

namespace rondo::testing {

namespace {

constexpr int kMaxRanks = 64;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

/// A float of 8 or 16 bits by its field widths, through arithmetic on doubles.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct NarrowFormat {
  using Word = std::conditional_t<(kExponentBits + kMantissaBits > 7), std::uint16_t, std::uint8_t>;

  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr unsigned kMagnitudes = 1U << (kExponentBits + kMantissaBits);
  static constexpr unsigned kInfinity = ((1U << kExponentBits) - 1) << kMantissaBits;
  /// The first code beyond the finite numbers, which is what overflow becomes.
  static constexpr unsigned kOverflow = kHasInfinity ? kInfinity : kMagnitudes - 1;

  static double decode(Word code) {
    const unsigned magnitude = code % kMagnitudes;
    double value = std::numeric_limits<double>::quiet_NaN();
    if (magnitude < kOverflow) {
      const auto exponent = static_cast<int>(magnitude >> kMantissaBits);
      const auto mantissa = static_cast<int>(magnitude % (1U << kMantissaBits));
      const int significand = exponent == 0 ? mantissa : mantissa + (1 << kMantissaBits);
      value = std::ldexp(significand, std::max(exponent, 1) - kBias - kMantissaBits);
    } else if (kHasInfinity && magnitude == kInfinity) {
      value = std::numeric_limits<double>::infinity();
    }
    return code >= kMagnitudes ? -value : value;
  }

  static Word encode(double value) {
    const unsigned sign = std::signbit(value) ? kMagnitudes : 0;
    return static_cast<Word>(sign | encodeMagnitude(std::fabs(value)));
  }

 private:
  static unsigned encodeMagnitude(double value) {
    if (std::isnan(value)) return kMagnitudes - 1;
    if (std::isinf(value)) return kOverflow;
    constexpr int kLowest = 1 - kBias;
    const int exponent = value == 0 ? kLowest : std::max(std::ilogb(value), kLowest);
    // Scaling by a power of two is exact, so that nearbyint() is the only rounding.
    const double units = std::nearbyint(std::ldexp(value, kMantissaBits - exponent));
    if (exponent - kLowest > (1 << kExponentBits)) return kOverflow;
    // A carry out of the mantissa moves on to the next exponent by itself.
    const auto code =
        (static_cast<unsigned>(exponent - kLowest) << kMantissaBits) + static_cast<unsigned>(units);
    return std::min(code, kOverflow);
  }
};

/// How elements of one type are read, added and written. Sum is what partial results are carried
/// in.
template <DataType kType>
struct Model;

template <class T, bool kIsSigned = std::is_signed_v<T>>
struct IntegerModel {
  using Sum = std::conditional_t<kIsSigned, std::int64_t, std::uint64_t>;

  static Sum read(const std::byte* from) { return load<T>(from); }

  static void write(std::byte* to, Sum value) { store(to, static_cast<T>(value)); }

  static Sum wrapped(std::uint64_t value) { return static_cast<Sum>(value); }

  static Sum add(Sum a, Sum b) {
    return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  static Sum multiply(Sum a, Sum b) {
    return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }

  static Sum divide(Sum value, int divisor) { return value / static_cast<Sum>(divisor); }
};

template <class S>
struct FloatArithmetic {
  using Sum = S;

  static Sum add(Sum a, Sum b) { return a + b; }

  static Sum multiply(Sum a, Sum b) { return a * b; }

  static Sum divide(Sum value, int divisor) { return value / static_cast<Sum>(divisor); }
};

template <class T>
struct WideFloatModel : FloatArithmetic<T> {
  static T read(const std::byte* from) { return load<T>(from); }

  static void write(std::byte* to, T value) { store(to, value); }
};

template <class Format>
struct NarrowFloatModel : FloatArithmetic<float> {
  using Word = typename Format::Word;

  static float read(const std::byte* from) { return table()[load<Word>(from)]; }

  static void write(std::byte* to, float value) { store(to, Format::encode(value)); }

 private:
  static const std::vector<float>& table() {
    static const std::vector<float> values = [] {
      std::vector<float> all;
      for (unsigned code = 0; code <= std::numeric_limits<Word>::max(); ++code)
        all.push_back(static_cast<float>(Format::decode(static_cast<Word>(code))));
      return all;
    }();
    return values;
  }
};

struct BoolModel {
  using Sum = int;

  static Sum read(const std::byte* from) { return *from != std::byte{0} ? 1 : 0; }

  static void write(std::byte* to, Sum value) { *to = static_cast<std::byte>(value); }

  static Sum add(Sum a, Sum b) { return a | b; }

  static Sum multiply(Sum a, Sum b) { return a & b; }

  static Sum divide(Sum value, int) { return value; }
};

template <>
struct Model<DataType::kInt8> : IntegerModel<std::int8_t> {};

template <>
struct Model<DataType::kUint8> : IntegerModel<std::uint8_t> {};

template <>
struct Model<DataType::kInt16> : IntegerModel<std::int16_t> {};

template <>
struct Model<DataType::kUint16> : IntegerModel<std::uint16_t> {};

template <>
struct Model<DataType::kInt32> : IntegerModel<std::int32_t> {};

template <>
struct Model<DataType::kUint32> : IntegerModel<std::uint32_t> {};

template <>
struct Model<DataType::kInt64> : IntegerModel<std::int64_t> {};

template <>
struct Model<DataType::kUint64> : IntegerModel<std::uint64_t> {};

template <>
struct Model<DataType::kFloat16> : NarrowFloatModel<NarrowFormat<5, 10, true>> {};

template <>
struct Model<DataType::kBfloat16> : NarrowFloatModel<NarrowFormat<8, 7, true>> {};

template <>
struct Model<DataType::kFloat32> : WideFloatModel<float> {};

template <>
struct Model<DataType::kFloat64> : WideFloatModel<double> {};

template <>
struct Model<DataType::kFloat8E4m3> : NarrowFloatModel<NarrowFormat<4, 3, false>> {};

template <>
struct Model<DataType::kFloat8E5m2> : NarrowFloatModel<NarrowFormat<5, 2, true>> {};

template <>
struct Model<DataType::kBool> : BoolModel {};

template <class Visitor>
decltype(auto) withModel(DataType type, Visitor&& visitor) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return visitor(Model<DataType::k##name>{});
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return visitor(Model<DataType::kUint8>{});
}

/// The way contributions meet, and from which rank on.
enum class Path { kRankOrder, kRing, kTree, kBinomial, kHosts };

struct Route {
  Path path = Path::kRankOrder;
  int start = 0;          ///< ring and binomial tree: the owner; tree: the rank at the root
  bool mirrored = false;  ///< tree: positions count down from the root
};

/// Elements that travel the same way.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  Route route;
};

/// Boundaries of `parts` nearly equal runs of whole grains; the longer ones first.
std::vector<std::size_t> cut(std::size_t total, std::size_t parts, std::size_t grain) {
  const std::size_t grains = (total + grain - 1) / grain;
  std::vector<std::size_t> boundaries{0};
  std::size_t at = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    at += grains / parts + (part < grains % parts ? 1 : 0);
    boundaries.push_back(std::min(at * grain, total));
  }
  return boundaries;
}

/// The share [begin, end) of one channel of the ring: loops of one chunk per rank.
void appendRing(std::size_t begin,
                std::size_t end,
                const ReferenceCall& call,
                std::vector<Stretch>& stretches) {
  const auto parts = static_cast<std::size_t>(call.ranks);
  while (begin < end) {
    const std::size_t loop = std::min(end - begin, parts * call.plan.chunkElems);
    const std::vector<std::size_t> at = cut(loop, parts, call.plan.grain);
    for (int owner = 0; owner < call.ranks; ++owner) {
      const auto part = static_cast<std::size_t>(owner);
      stretches.push_back({begin + at[part], begin + at[part + 1], {Path::kRing, owner, false}});
    }
    begin += loop;
  }
}

std::vector<Stretch> allReduceStretches(const ReferenceCall& call, bool ring) {
  std::vector<Stretch> stretches;
  const auto channels = static_cast<std::size_t>(call.plan.channels);
  const std::vector<std::size_t> at = cut(call.request.count, channels, call.plan.grain);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    if (ring) {
      appendRing(at[channel], at[channel + 1], call, stretches);
      continue;
    }
    const bool twin = channel % 2 != 0;
    const bool even = call.ranks % 2 == 0;
    const int root = !twin ? 0 : even ? call.ranks - 1 : 1 % call.ranks;
    stretches.push_back({at[channel], at[channel + 1], {Path::kTree, root, twin && even}});
  }
  return stretches;
}

std::vector<Stretch> stretchesOf(const ReferenceCall& call) {
  const AlgorithmInfo& info = algorithmInfo(call.plan.algorithm);
  const std::size_t count = call.request.count;
  const bool scatters = info.collective == Collective::kReduceScatter;
  const std::size_t all = scatters ? count * static_cast<std::size_t>(call.ranks) : count;
  if (isTwoLevel(call.plan.algorithm)) return {{0, all, {Path::kHosts, 0, false}}};
  if (call.plan.throughMailboxes || info.order == FoldOrder::kRankOrder) return {{0, all, {}}};
  if (info.collective == Collective::kAllReduce) {
    return allReduceStretches(call, info.name == "ring");
  }
  if (!scatters) return {{0, all, {Path::kTree, call.request.root, false}}};
  std::vector<Stretch> stretches;
  const Path path = info.name == "ring" ? Path::kRing : Path::kBinomial;
  for (int owner = 0; owner < call.ranks; ++owner) {
    const std::size_t begin = static_cast<std::size_t>(owner) * count;
    stretches.push_back({begin, begin + count, {path, owner, false}});
  }
  return stretches;
}

/// Folds one element's contributions.
template <class M>
class Folder {
 public:
  using Sum = typename M::Sum;

  /// @param hosts by rank; empty: not needed
  Folder(ReduceOp op, int ranks, std::span<const int> hosts)
      : op_(op), ranks_(ranks), hosts_(hosts) {}

  Sum& contribution(int rank) { return contributions_[static_cast<std::size_t>(rank)]; }

  Sum along(const Route& route) const {
    switch (route.path) {
      case Path::kRankOrder:
        return inRankOrder();
      case Path::kRing:
        return roundTheRing(route.start);
      case Path::kTree:
        return upTheTree(route);
      case Path::kHosts:
        return hostByHost();
      case Path::kBinomial:
        return upTheBinomialTree(route.start, 0, static_cast<int>(std::bit_ceil(unsigned(ranks_))));
    }
    return {};
  }

  /// As it is after crossing a link in the element's type.
  static Sum rounded(Sum value) {
    std::array<std::byte, sizeof(std::uint64_t)> element{};
    M::write(element.data(), value);
    return M::read(element.data());
  }

 private:
  Sum fold(Sum a, Sum b) const {
    switch (op_) {
      case ReduceOp::kProd:
        return M::multiply(a, b);
      case ReduceOp::kMin:
        return chosen(a, b, true);
      case ReduceOp::kMax:
        return chosen(a, b, false);
      default:
        return M::add(a, b);
    }
  }

  static Sum chosen(Sum a, Sum b, bool lower) {
    if constexpr (std::is_floating_point_v<Sum>) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Sum>::quiet_NaN();
      if (a == 0 && b == 0) return std::signbit(a) == lower ? a : b;
    }
    return (a < b) == lower ? a : b;
  }

  Sum from(int rank) const { return contributions_[static_cast<std::size_t>(rank % ranks_)]; }

  Sum inRankOrder() const {
    Sum sum = from(0);
    for (int rank = 1; rank < ranks_; ++rank)
      sum = fold(sum, from(rank));
    return sum;
  }

  /// The ranks of each host, then the sums of the hosts in order of their lowest ranks.
  Sum hostByHost() const {
    std::vector<int> seen;
    Sum all{};
    for (int first = 0; first < ranks_; ++first) {
      const int host = hosts_[static_cast<std::size_t>(first)];
      if (std::ranges::find(seen, host) != seen.end()) continue;
      Sum sum = from(first);
      for (int rank = first + 1; rank < ranks_; ++rank) {
        if (hosts_[static_cast<std::size_t>(rank)] == host) sum = fold(sum, from(rank));
      }
      all = seen.empty() ? rounded(sum) : fold(all, rounded(sum));
      seen.push_back(host);
    }
    return all;
  }

  /// owner+1, owner+2, ..., owner.
  Sum roundTheRing(int owner) const {
    Sum sum = from(owner + 1);
    for (int hop = 2; hop <= ranks_; ++hop)
      sum = fold(rounded(sum), from(owner + hop));
    return sum;
  }

  Sum atPosition(const Route& route, int position) const {
    return from(route.mirrored ? route.start - position : route.start + position);
  }

  /// Position 0 above the tree of positions 1 .. n-1.
  Sum upTheTree(const Route& route) const {
    const Sum top = atPosition(route, 0);
    return ranks_ == 1 ? top : fold(top, rounded(subtree(route, 1, ranks_)));
  }

  /// Positions [begin, end): the one with most trailing zeros is the top; left part, top, right
  /// part.
  Sum subtree(const Route& route, int begin, int end) const {
    int top = begin;
    for (int position = begin; position < end; ++position) {
      if (std::countr_zero(unsigned(position)) > std::countr_zero(unsigned(top))) top = position;
    }
    Sum sum = atPosition(route, top);
    if (begin < top) sum = fold(rounded(subtree(route, begin, top)), sum);
    if (top + 1 < end) sum = fold(sum, rounded(subtree(route, top + 1, end)));
    return sum;
  }

  /// The ranks `place` .. `place + width - 1` below the owner: nearer half, then farther half.
  Sum upTheBinomialTree(int owner, int place, int width) const {
    if (width == 1) return from(owner - place + ranks_);
    const Sum near = upTheBinomialTree(owner, place, width / 2);
    if (place + width / 2 >= ranks_) return near;
    return fold(rounded(near), rounded(upTheBinomialTree(owner, place + width / 2, width / 2)));
  }

  ReduceOp op_;
  int ranks_;
  std::span<const int> hosts_;
  std::array<Sum, kMaxRanks> contributions_{};
};

template <class M>
void reduceStretches(const ReferenceCall& call,
                     std::span<const Bytes> inputs,
                     std::span<const Bytes> factors,
                     Bytes& result) {
  const std::size_t elemBytes = elementBytes(call.request.type);
  const ReduceOp op = call.request.op;
  Folder<M> folder(op, call.ranks, call.hosts);
  for (const Stretch& stretch : stretchesOf(call)) {
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      for (int rank = 0; rank < call.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        typename M::Sum value = M::read(inputs[r].data() + i * elemBytes);
        if (op == ReduceOp::kPreMulSum) {
          value = folder.rounded(M::multiply(value, M::read(factors[r].data())));
        }
        folder.contribution(rank) = value;
      }
      typename M::Sum sum = folder.along(stretch.route);
      if (op == ReduceOp::kAvg) sum = M::divide(sum, call.ranks);
      M::write(result.data() + i * elemBytes, sum);
    }
  }
}

bool isNanElement(DataType type, const std::byte* element) {
  return isFloat(type) && std::isnan(elementValue(type, element));
}

}  // namespace

Bytes reduceNaively(const ReferenceCall& call,
                    std::span<const Bytes> inputs,
                    std::span<const Bytes> factors) {
  Bytes result(inputs.front().size());
  withModel(call.request.type,
            [&]<class M>(M) { reduceStretches<M>(call, inputs, factors, result); });
  return result;
}

std::string describeDifference(DataType type,
                               bool nanIsNan,
                               std::span<const std::byte> expected,
                               std::span<const std::byte> actual) {
  if (expected.size() != actual.size()) return "sizes differ";
  if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0) {
    return {};
  }
  const std::size_t elemBytes = elementBytes(type);
  std::size_t different = 0;
  std::ostringstream first;
  for (std::size_t at = 0; at < expected.size(); at += elemBytes) {
    const std::byte* const wanted = expected.data() + at;
    const std::byte* const got = actual.data() + at;
    if (std::memcmp(wanted, got, elemBytes) == 0) continue;
    if (nanIsNan && isNanElement(type, wanted) && isNanElement(type, got)) continue;
    if (different++ == 0) {
      first.precision(17);
      first << "element " << at / elemBytes << " of " << expected.size() / elemBytes << " is "
            << elementValue(type, got) << ", must be " << elementValue(type, wanted);
    }
  }
  if (different == 0) return {};
  first << " (" << different << " elements differ)";
  return first.str();
}

double elementValue(DataType type, const std::byte* element) {
  if (type == DataType::kBool) return static_cast<double>(*element);
  return withModel(type, [&]<class M>(M) { return static_cast<double>(M::read(element)); });
}

void appendElement(DataType type, double value, Bytes& bytes) {
  bytes.resize(bytes.size() + elementBytes(type));
  std::byte* const to = bytes.data() + bytes.size() - elementBytes(type);
  withModel(type, [&]<class M>(M) { M::write(to, static_cast<typename M::Sum>(value)); });
}

Bytes elementsOf(DataType type, std::span<const double> values) {
  Bytes bytes;
  for (const double value : values)
    appendElement(type, value, bytes);
  return bytes;
}

}  // namespace rondo::testing
