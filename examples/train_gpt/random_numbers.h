// Random numbers that are the same on every machine: counters through a mixing function.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace rondo::train {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
/// @threads one at a time
class RandomNumbers {
 public:
  /// A stream of its own for each seed and purpose.
  RandomNumbers(std::uint64_t seed, std::string_view purpose) : state_(seed) {
    for (const char letter : purpose)
      state_ = mix(state_ ^ static_cast<unsigned char>(letter));
  }

  std::uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15U); }

  /// Below `limit`, which is far below 2^64: the remainder's bias is not noticed.
  std::uint64_t below(std::uint64_t limit) { return bits() % limit; }

  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

  /// Normal with deviation 1, by Box and Muller's transformation.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace rondo::train
