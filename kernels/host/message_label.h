// What the two ends of a message must agree on, as its slots carry it, whole, so that an end that
// disagrees can say what the other one meant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data_type.h"

namespace rondo::host {

/// One word:
///
///     bits 0 to 39    count, in numbers of `type`
///     bits 40 to 55   tag
///     bits 56 to 62   type
///     bit 63          elements are pairs of these: complex numbers
class MessageLabel {
 public:
  static constexpr std::size_t kMostCount = (std::size_t{1} << 40) - 1;
  static constexpr int kMostTag = 0xffff;

  /// @param count at most kMostCount
  /// @param tag   0 to kMostTag
  constexpr MessageLabel(DataType type, bool pairs, std::size_t count, int tag)
      : word_(std::uint64_t{pairs} << 63 | static_cast<std::uint64_t>(type) << 56 |
              static_cast<std::uint64_t>(tag) << 40 | count) {}

  explicit constexpr MessageLabel(std::uint64_t word) : word_(word) {}

  constexpr std::uint64_t word() const { return word_; }

  constexpr DataType type() const { return static_cast<DataType>(word_ >> 56 & 0x7f); }

  constexpr bool pairs() const { return word_ >> 63 != 0; }

  constexpr int tag() const { return static_cast<int>(word_ >> 40 & kMostTag); }

  constexpr std::size_t count() const { return word_ & kMostCount; }

  /// Of the whole message.
  constexpr std::size_t bytes() const { return count() * elementBytes(type()); }

 private:
  std::uint64_t word_;
};

}  // namespace rondo::host
