// What the verifier computes with instead of numbers: a value knows how it was made.
//
// The expression is kept as a hash. Two values are taken for the same expression when the hashes
// agree; each is compared with one expected hash only, so 64 bits are plenty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rondo::verifier {

/// Most ranks that a RankSet can hold.
inline constexpr int kMaxRanks = 128;

/// A set of ranks below kMaxRanks.
class RankSet {
 public:
  /// {0, ..., ranks - 1}
  static RankSet all(int ranks) {
    RankSet set;
    for (int rank = 0; rank < ranks; ++rank)
      set.add(rank);
    return set;
  }

  static RankSet of(int rank) {
    RankSet set;
    set.add(rank);
    return set;
  }

  void add(int rank) { words_[rank / 64] |= std::uint64_t{1} << (rank % 64); }

  void add(const RankSet& other) {
    words_[0] |= other.words_[0];
    words_[1] |= other.words_[1];
  }

  bool contains(int rank) const { return (words_[rank / 64] >> (rank % 64) & 1) != 0; }

  bool intersects(const RankSet& other) const {
    return ((words_[0] & other.words_[0]) | (words_[1] & other.words_[1])) != 0;
  }

  friend bool operator==(const RankSet&, const RankSet&) = default;

 private:
  std::uint64_t words_[kMaxRanks / 64] = {};
};

/// The hash of an expression.
using Expression = std::uint64_t;

namespace detail {

/// Mixes two words; not symmetric. Constants: odd, from the fractional parts of sqrt(5) and pi.
constexpr Expression mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = a * 0x9E3779B97F4A7C15U + (b ^ (b >> 29)) * 0x243F6A8885A308D3U;
  h ^= h >> 32;
  h *= 0x9E3779B97F4A7C15U;
  return h ^ (h >> 29);
}

}  // namespace detail

/// Element `element` of the input of `rank` in call `call`.
constexpr Expression inputExpression(std::size_t call, int rank, std::size_t element) {
  return detail::mixed(detail::mixed(call + 1, static_cast<std::uint64_t>(rank)), element);
}

/// a + b, in this order, in the accumulator's type.
constexpr Expression sumExpression(Expression a, Expression b) {
  return detail::mixed(a, b);
}

/// The division that `last` stands for.
constexpr Expression lastExpression(Expression a) {
  return detail::mixed(a, 0x6C617374U);
}

/// Rounding from the accumulator's type to the element's.
constexpr Expression roundExpression(Expression a) {
  return detail::mixed(a, 0x726F756EU);
}

/// One symbolic element.
struct Value {
  Expression expression = 0;
  RankSet contributors;
  std::uint32_t element = 0;  ///< index in the contributors' inputs; the same for all of them
  std::uint16_t hops = 0;     ///< connections crossed on the longest way from an input
  bool rounded = true;        ///< representable in the element's type
  bool complete = false;      ///< `last` was applied

  static Value input(std::size_t call, int rank, std::size_t element) {
    Value value;
    value.expression = inputExpression(call, rank, element);
    value.contributors = RankSet::of(rank);
    value.element = static_cast<std::uint32_t>(element);
    return value;
  }

  /// This value plus `next`; the caller has checked that both are of one element and disjoint.
  void add(const Value& next) {
    expression = sumExpression(expression, next.expression);
    contributors.add(next.contributors);
    hops = std::max(hops, next.hops);
    rounded = false;
  }

  void applyLast() {
    expression = lastExpression(expression);
    rounded = false;
    complete = true;
  }

  /// What remains of this value when it is stored as an element.
  void round() {
    if (!rounded) expression = roundExpression(expression);
    rounded = true;
  }
};

static_assert(sizeof(Value) == 32, "values are copied by the million");

}  // namespace rondo::verifier
