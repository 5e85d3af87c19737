// The sum of squares of floats, exactly: the same whoever adds up what, in which order.
//
// The square of a finite float is a whole number of 48 bits times a power of two from 2^-298 to
// 2^208. Sums are kept in fixed point: words of 32 bits each, in 64-bit integers, so that the words
// of all ranks can be added up by an ordinary all-reduce before carries are worked off.
//
//   bit of the sum     0        32        64           ...          639
//   word               | words[0] | words[1] |         ...   words[19] |
//   its weight         2^-298     2^-266     2^-234                 2^310
//
// After Kulisch's long accumulator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rondo/rondo.hpp"

namespace rondo::train {

class ExactSquares {
 public:
  void add(std::span<const float> values);

  /// Adds the sums of all ranks. Collective, once at the end.
  void allReduce(const Communicator& comm);

  /// Whether an infinity or a NaN was added.
  bool overflow() const { return parts_[kInfinities] != 0 || parts_[kNans] != 0; }

  /// The root of the sum; infinity or NaN if one was added. A function of the exact sum, so the
  /// same on all ranks.
  double norm() const;

 private:
  static constexpr std::size_t kWords = 20;
  static constexpr std::size_t kInfinities = kWords;
  static constexpr std::size_t kNans = kWords + 1;

  using Bins = std::array<std::uint64_t, 255>;

  void addBins(const Bins& bins);
  void carry();

  /// Words, then the numbers of infinities and NaNs: what travels.
  std::array<std::int64_t, kWords + 2> parts_{};
};

}  // namespace rondo::train
