// Parameters as bfloat16: the upper half of a float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rondo::train {

/// Rounded to nearest, ties to even; a NaN stays one.
inline std::uint16_t toBfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

inline float fromBfloat16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
}

inline void toBfloat16(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = toBfloat16(from[i]);
}

inline void fromBfloat16(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = fromBfloat16(from[i]);
}

}  // namespace rondo::train
