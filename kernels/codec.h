// Codecs: how floats are packed for the wire and unpacked again. This scalar code is the definition
// for the host and for the device; every vectorised or CUDA loop must give the same bytes. It uses
// additions, multiplications, divisions and comparisons of IEEE 754 only, so that it can. The
// promises built on it: docs/compression.md. The host's loops: kernels/host/block_coder.h; the
// device's: kernels/cuda/coding.h.
//
// What is encoded at once is a *run*: consecutive blocks, each of at most `block` elements, packed
// without gaps, whatever the sizes of the blocks.
//
//     int8            | scale of block 0 | scale of block 1 | ... | code | code | code | ...
//     bytes             4                  4                        1      1      1
//
//     fp16, bf16      | code | code | ...         fp8_e4m3, fp8_e5m2   | code | code | ...
//     bytes             2      2                                         1      1
//
// Scales are fp32 in the byte order of the machine, as elements in slots are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/element.h"
#include "kernels/portability.h"

/// Every codec: X(enumerator, bytes of a code, bytes of a block's scale, short name). The order is
/// the order of rondoCodec_t.
#define RONDO_FOR_EACH_CODEC(X)   \
  X(Float16, 2, 0, "fp16")        \
  X(Bfloat16, 2, 0, "bf16")       \
  X(Float8E4m3, 1, 0, "fp8_e4m3") \
  X(Float8E5m2, 1, 0, "fp8_e5m2") \
  X(Int8, 1, 4, "int8")

namespace rondo {

enum class Codec : std::uint8_t {
#define RONDO_ENUMERATOR(name, codeBytes, scaleBytes, text) k##name,
  RONDO_FOR_EACH_CODEC(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

inline constexpr int kCodecCount = 5;

/// Elements of a block unless a call says otherwise: scales are 1.6 % of what int8 sends then.
inline constexpr std::size_t kDefaultBlockElems = 256;

/// The name that commands and messages use, e.g. "int8".
constexpr std::string_view codecName(Codec codec) {
  switch (codec) {
#define RONDO_CASE(name, codeBytes, scaleBytes, text) \
  case Codec::k##name:                                \
    return text;
    RONDO_FOR_EACH_CODEC(RONDO_CASE)
#undef RONDO_CASE
  }
  return "unknown";
}

/// Bytes of one element's code.
RONDO_HD constexpr std::size_t codeBytes(Codec codec) {
  switch (codec) {
#define RONDO_CASE(name, codeBytes, scaleBytes, text) \
  case Codec::k##name:                                \
    return codeBytes;
    RONDO_FOR_EACH_CODEC(RONDO_CASE)
#undef RONDO_CASE
  }
  return 0;
}

/// Bytes that each block has besides its codes: 0 for codecs that need no scale, to which it makes
/// no difference where blocks begin.
RONDO_HD constexpr std::size_t scaleBytes(Codec codec) {
  switch (codec) {
#define RONDO_CASE(name, codeBytes, scaleBytes, text) \
  case Codec::k##name:                                \
    return scaleBytes;
    RONDO_FOR_EACH_CODEC(RONDO_CASE)
#undef RONDO_CASE
  }
  return 0;
}

/// Where the scale of block `block` lies in a run.
RONDO_HD constexpr std::size_t scaleOffset(Codec codec, std::size_t block) {
  return block * scaleBytes(codec);
}

/// Where the code of the run's element `elem` lies in a run of `blocks` blocks.
RONDO_HD constexpr std::size_t codeOffset(Codec codec, std::size_t blocks, std::size_t elem) {
  return blocks * scaleBytes(codec) + elem * codeBytes(codec);
}

/// Bytes of a run of `blocks` blocks that have `elems` elements together.
RONDO_HD constexpr std::size_t encodedBytes(Codec codec, std::size_t blocks, std::size_t elems) {
  return codeOffset(codec, blocks, elems);
}

static_assert(scaleOffset(Codec::kInt8, 2) == 8 && codeOffset(Codec::kInt8, 3, 5) == 17);
static_assert(encodedBytes(Codec::kInt8, 2, 300) == 308 && encodedBytes(Codec::kInt8, 0, 0) == 0);
static_assert(encodedBytes(Codec::kFloat16, 2, 300) == 600 &&
              encodedBytes(Codec::kFloat8E4m3, 2, 300) == 300);
static_assert(encodedBytes(Codec::kInt8, 1, kDefaultBlockElems) * 100 <=
                  27 * kDefaultBlockElems * sizeof(float),
              "int8 sends at most 0.27 of the bytes of fp32");

/// The bits of a float without its sign: numbers have the order of these, below infinity, below
/// NaN.
RONDO_HD constexpr std::uint32_t magnitudeBits(float value) {
  return detail::bitCast<std::uint32_t>(value) & 0x7fffffffu;
}

inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;

/// The least magnitudeBits() of a float that has no finite number of `Float` next to it: those of
/// infinity and of NaN among them.
template <class Float>
inline constexpr std::uint32_t kOverflowBits = [] {
  if constexpr (kIsMinifloat<Float>) {
    constexpr auto kMost = Float{static_cast<typename Float::Bits>(Float::kMaxFinite)};
    constexpr std::uint32_t kHalfUnit = 1u << (Float::kDroppedBits - 1);
    // The middle between the largest number and what would be the next goes to the even one.
    return magnitudeBits(kMost.toFloat()) + kHalfUnit + (Float::kMaxFinite % 2 == 0 ? 1u : 0u);
  } else {
    return kInfinityBits;
  }
}();

static_assert(kOverflowBits<Float16> == detail::bitCast<std::uint32_t>(65520.0f));
static_assert(kOverflowBits<Float8E5m2> == detail::bitCast<std::uint32_t>(61440.0f));
static_assert(kOverflowBits<Float8E4m3> == detail::bitCast<std::uint32_t>(464.0f) + 1);

/// int8 with a scale per block, symmetric: code = value / scale, rounded to nearest, ties to even,
/// from -127 to 127; the scale is a 127th of the block's largest magnitude. What code and scale
/// stand for is their product, one rounding. |value - product| is half a scale at most, but for a
/// few units in the last place of `value`.
struct Int8Codec {
  static constexpr float kMostCode = 127.0f;
  /// A block's largest magnitude is taken for this at least, so that no scale is denormal, and a
  /// block of zeros is no special case. Whatever is below half of kLeastPeak / 127 becomes 0.
  static constexpr std::uint32_t kLeastPeak =
      detail::bitCast<std::uint32_t>(127.0f * detail::exp2OfInt(-126));
  /// The largest float but one: 127 times the scale of the largest would round to infinity.
  static constexpr std::uint32_t kMostPeak = 0x7f7ffffeu;

  struct Scale {
    float scale = 0;
    float inverse = 0;  ///< by which values are multiplied
  };

  /// False for a block that holds infinity or NaN: its scale is NaN and its codes are 0, so that
  /// all its elements become NaN.
  /// @param peak the largest magnitudeBits() of the block; 0 if it is empty
  RONDO_HD static constexpr bool isFinite(std::uint32_t peak) { return peak < kInfinityBits; }

  /// @param peak as above
  RONDO_HD static constexpr Scale scaleOf(std::uint32_t peak) {
    if (!isFinite(peak)) return {detail::bitCast<float>(0x7fc00000u), 0.0f};
    const std::uint32_t capped = peak < kMostPeak ? peak : kMostPeak;
    const auto most = detail::bitCast<float>(capped > kLeastPeak ? capped : kLeastPeak);
    return {most / kMostCode, kMostCode / most};
  }

  /// Adding this to a number of magnitude 2^22 at most leaves it, rounded to an integer, in the low
  /// bits.
  static constexpr float kShifter = 12582912.0f;  // 1.5 * 2^23

  /// The code of an element of a finite block.
  RONDO_HD static constexpr std::int8_t encode(float value, float inverse) {
    const float shifted = value * inverse + kShifter;
    return static_cast<std::int8_t>(detail::bitCast<std::uint32_t>(shifted) & 0xffu);
  }

  RONDO_HD static constexpr float decode(std::int8_t code, float scale) {
    return static_cast<float>(code) * scale;
  }
};

static_assert(Int8Codec::encode(2.5f, 1.0f) == 2 && Int8Codec::encode(3.5f, 1.0f) == 4 &&
              Int8Codec::encode(-2.5f, 1.0f) == -2 && Int8Codec::encode(-0.75f, 1.0f) == -1);
static_assert(Int8Codec::scaleOf(0).scale == detail::exp2OfInt(-126) &&
              Int8Codec::scaleOf(0).inverse == detail::exp2OfInt(126));
static_assert(Int8Codec::decode(127, Int8Codec::scaleOf(0x7f7fffffu).scale) <=
              detail::bitCast<float>(0x7f7fffffu));

}  // namespace rondo
