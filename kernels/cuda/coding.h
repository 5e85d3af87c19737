// The codecs in a kernel, an element at a time: the bytes of the host (kernels/host/block_coder.h),
// and elements of any float type as the fp32 that codecs work on. The peak of a block is its
// caller's to find (kernels/cuda/coded_executor.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/codec.h"
#include "kernels/cuda/conversion.h"
#include "kernels/cuda/device.h"
#include "kernels/data_type.h"

namespace rondo::device {

/// An element as fp32, as kernels/host/float_blocks.h widens it.
RONDO_DEVICE float loadFloat(DataType type, const std::byte* elements, std::size_t at) {
  switch (type) {
    case DataType::kFloat64:
      return static_cast<float>(reinterpret_cast<const double*>(elements)[at]);
    case DataType::kFloat16:
      return toFloat(reinterpret_cast<const Float16*>(elements)[at]);
    case DataType::kBfloat16:
      return toFloat(reinterpret_cast<const Bfloat16*>(elements)[at]);
    case DataType::kFloat8E4m3:
      return toFloat(reinterpret_cast<const Float8E4m3*>(elements)[at]);
    case DataType::kFloat8E5m2:
      return toFloat(reinterpret_cast<const Float8E5m2*>(elements)[at]);
    default:
      return reinterpret_cast<const float*>(elements)[at];
  }
}

namespace detail {

template <class Float>
RONDO_DEVICE bool storeNarrow(float value, std::byte* elements, std::size_t at) {
  reinterpret_cast<Float*>(elements)[at] = roundTo<Float>(value);
  return magnitudeBits(value) >= kOverflowBits<Float>;
}

}  // namespace detail

/// Rounds `value` to an element. @return whether that is infinite or NaN
RONDO_DEVICE bool storeFloat(DataType type, float value, std::byte* elements, std::size_t at) {
  switch (type) {
    case DataType::kFloat16:
      return detail::storeNarrow<Float16>(value, elements, at);
    case DataType::kBfloat16:
      return detail::storeNarrow<Bfloat16>(value, elements, at);
    case DataType::kFloat8E4m3:
      return detail::storeNarrow<Float8E4m3>(value, elements, at);
    case DataType::kFloat8E5m2:
      return detail::storeNarrow<Float8E5m2>(value, elements, at);
    case DataType::kFloat64:
      reinterpret_cast<double*>(elements)[at] = static_cast<double>(value);
      break;
    default:
      reinterpret_cast<float*>(elements)[at] = value;
  }
  return magnitudeBits(value) >= kInfinityBits;
}

/// The code of one element, in the low bits: the bytes of kernels/host/block_coder.h.
/// @param inverse, finite of the element's block, for a codec with scales: Int8Codec::scaleOf()
RONDO_DEVICE std::uint16_t encodeElement(Codec codec, float value, float inverse, bool finite) {
  switch (codec) {
    case Codec::kFloat16:
      return roundTo<Float16>(value).bits;
    case Codec::kBfloat16:
      return roundTo<Bfloat16>(value).bits;
    case Codec::kFloat8E4m3:
      return roundTo<Float8E4m3>(value).bits;
    case Codec::kFloat8E5m2:
      return roundTo<Float8E5m2>(value).bits;
    case Codec::kInt8:
      break;
  }
  return finite ? static_cast<std::uint8_t>(Int8Codec::encode(value, inverse)) : std::uint8_t{0};
}

/// What a code stands for. @param scale of its block, for a codec with scales
RONDO_DEVICE float decodeElement(Codec codec, std::uint16_t code, float scale) {
  switch (codec) {
    case Codec::kFloat16:
      return toFloat(Float16{code});
    case Codec::kBfloat16:
      return toFloat(Bfloat16{code});
    case Codec::kFloat8E4m3:
      return toFloat(Float8E4m3{static_cast<std::uint8_t>(code)});
    case Codec::kFloat8E5m2:
      return toFloat(Float8E5m2{static_cast<std::uint8_t>(code)});
    case Codec::kInt8:
      break;
  }
  return Int8Codec::decode(static_cast<std::int8_t>(code), scale);
}

}  // namespace rondo::device
