// The loops of the int8 codec on SIMD registers; see combine_simd.h, whose rules for files that are
// compiled per instruction set hold here, too.
#pragma once

#include <hwy/highway.h>

#include "kernels/codec.h"
#include "kernels/host/int8_loops.h"

namespace rondo::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using IntTag = hn::RebindToSigned<FloatTag>;

/// Elements of a register of floats.
inline constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
/// Elements of an iteration: four registers of floats, enough to hide what an addition takes.
inline constexpr std::size_t kStride = 4 * kLanes;

/// Calls `body(first)` for each whole iteration; the elements that are left over.
template <class Body>
HWY_INLINE std::size_t forWholeStrides(std::size_t elems, Body body) {
  std::size_t first = 0;
  for (; elems - first >= kStride; first += kStride)
    body(first);
  return elems - first;
}

inline std::uint32_t peakOfBlock(const float* values, std::size_t elems) noexcept {
  const WordTag words;
  const auto magnitude = [&](const float* from) {
    return hn::And(hn::BitCast(words, hn::LoadU(FloatTag(), from)), hn::Set(words, 0x7fffffffu));
  };
  auto most0 = hn::Zero(words);
  auto most1 = most0;
  const auto takeStride = [&](const float* from) {
    most0 = hn::Max(most0, hn::Max(magnitude(from), magnitude(from + kLanes)));
    most1 = hn::Max(most1, hn::Max(magnitude(from + 2 * kLanes), magnitude(from + 3 * kLanes)));
  };
  const std::size_t left =
      forWholeStrides(elems, [&](std::size_t first) { takeStride(values + first); });
  if (left > 0) {
    HWY_ALIGN float tail[kStride] = {};
    __builtin_memcpy(tail, values + (elems - left), left * sizeof(float));
    takeStride(tail);
  }
  HWY_ALIGN std::uint32_t lanes[kLanes];
  hn::Store(hn::Max(most0, most1), words, lanes);
  std::uint32_t most = 0;
  for (const std::uint32_t lane : lanes)
    most = lane > most ? lane : most;
  return most;
}

inline void encodeBlock(const float* values,
                        float inverse,
                        std::size_t elems,
                        std::int8_t* codes) noexcept {
  const auto factor = hn::Set(FloatTag(), inverse);
  const auto shifter = hn::Set(FloatTag(), Int8Codec::kShifter);
  // As bytes of either sign: the low byte of the shifted number is the code.
  auto* const bytes = reinterpret_cast<std::uint8_t*>(codes);
  const auto encodeStride = [&](const float* from, std::uint8_t* to) {
    const hn::Rebind<std::uint8_t, FloatTag> tag;
    for (std::size_t at = 0; at < kStride; at += kLanes) {
      const auto shifted = hn::Add(hn::Mul(hn::LoadU(FloatTag(), from + at), factor), shifter);
      hn::StoreU(hn::TruncateTo(tag, hn::BitCast(WordTag(), shifted)), tag, to + at);
    }
  };
  const std::size_t left = forWholeStrides(
      elems, [&](std::size_t first) { encodeStride(values + first, bytes + first); });
  if (left == 0) return;
  HWY_ALIGN float tail[kStride] = {};
  HWY_ALIGN std::uint8_t tailCodes[kStride];
  __builtin_memcpy(tail, values + (elems - left), left * sizeof(float));
  encodeStride(tail, tailCodes);
  __builtin_memcpy(bytes + (elems - left), tailCodes, left);
}

/// A register of decoded elements.
HWY_INLINE FloatVec decodeVector(const std::int8_t* codes, FloatVec scale) {
  const hn::Rebind<std::int8_t, FloatTag> bytes;
  const auto integers = hn::PromoteTo(IntTag(), hn::LoadU(bytes, codes));
  return hn::Mul(hn::ConvertTo(FloatTag(), integers), scale);
}

/// Calls `use(decoded, to)` for each register; the last elements by way of the stack.
template <class Use>
HWY_INLINE void forDecoded(
    const std::int8_t* codes, float scale, std::size_t elems, float* to, Use use) {
  const auto factor = hn::Set(FloatTag(), scale);
  const auto stride = [&](const std::int8_t* from, float* target) {
    for (std::size_t at = 0; at < kStride; at += kLanes)
      use(decodeVector(from + at, factor), target + at);
  };
  const std::size_t left =
      forWholeStrides(elems, [&](std::size_t first) { stride(codes + first, to + first); });
  if (left == 0) return;
  HWY_ALIGN float tail[kStride] = {};
  HWY_ALIGN std::int8_t tailCodes[kStride] = {};
  float* const rest = to + (elems - left);
  __builtin_memcpy(tailCodes, codes + (elems - left), left);
  __builtin_memcpy(tail, rest, left * sizeof(float));
  stride(tailCodes, tail);
  __builtin_memcpy(rest, tail, left * sizeof(float));
}

inline void decodeBlock(const std::int8_t* codes,
                        float scale,
                        std::size_t elems,
                        float* values) noexcept {
  forDecoded(codes, scale, elems, values,
             [](FloatVec decoded, float* to) { hn::StoreU(decoded, FloatTag(), to); });
}

inline void addDecodedBlock(const std::int8_t* codes,
                            float scale,
                            std::size_t elems,
                            float* sums) noexcept {
  forDecoded(codes, scale, elems, sums, [](FloatVec decoded, float* to) {
    hn::StoreU(hn::Add(hn::LoadU(FloatTag(), to), decoded), FloatTag(), to);
  });
}

inline constexpr Int8Loops kInt8Loops{&peakOfBlock, &encodeBlock, &decodeBlock, &addDecodedBlock};

}  // namespace rondo::host::HWY_NAMESPACE
