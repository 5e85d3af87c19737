#include "src/train/exact_squares.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rondo::train {

namespace {

constexpr std::uint32_t kFractionBits = 23;
constexpr std::uint32_t kSpecialExponent = 255;
/// Weight of the lowest bit: the square of the least denormal, 2^-149.
constexpr int kLowestBit = -298;
/// Squares of 48 bits that a bin of 64 holds.
constexpr std::size_t kSquaresPerBin = std::size_t{1} << 16U;

}  // namespace

void ExactSquares::add(std::span<const float> values) {
  while (!values.empty()) {
    // One bin for each exponent: an addition of whole numbers per value.
    Bins bins{};
    const std::span<const float> some = values.first(std::min(values.size(), kSquaresPerBin));
    for (const float value : some) {
      const auto bits = std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
      const std::uint32_t exponent = bits >> kFractionBits;
      std::uint64_t fraction = bits & ((1U << kFractionBits) - 1);
      if (exponent == kSpecialExponent) {
        ++parts_[fraction == 0 ? kInfinities : kNans];
        continue;
      }
      if (exponent != 0) fraction |= 1U << kFractionBits;
      bins[exponent] += fraction * fraction;
    }
    addBins(bins);
    values = values.subspan(some.size());
  }
}

void ExactSquares::addBins(const Bins& bins) {
  for (std::size_t exponent = 0; exponent < bins.size(); ++exponent) {
    if (bins[exponent] == 0) continue;
    // Denormals have the weight of the least normal numbers.
    const std::size_t shift = 2 * (std::max<std::size_t>(exponent, 1) - 1);
    unsigned __int128 rest = static_cast<unsigned __int128>(bins[exponent]) << (shift % 32);
    for (std::size_t word = shift / 32; rest != 0; ++word, rest >>= 32U)
      parts_[word] += static_cast<std::int64_t>(static_cast<std::uint32_t>(rest));
  }
  carry();
}

void ExactSquares::carry() {
  for (std::size_t word = 0; word + 1 < kWords; ++word) {
    parts_[word + 1] += parts_[word] >> 32U;
    parts_[word] &= 0xffffffff;
  }
}

void ExactSquares::allReduce(const Communicator& comm) {
  comm.allReduce(parts_);
  carry();
}

double ExactSquares::norm() const {
  if (parts_[kNans] != 0) return std::numeric_limits<double>::quiet_NaN();
  if (parts_[kInfinities] != 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t word = kWords; word-- > 0;)
    sum += std::ldexp(static_cast<double>(parts_[word]), kLowestBit + static_cast<int>(32 * word));
  return std::sqrt(sum);
}

}  // namespace rondo::train
