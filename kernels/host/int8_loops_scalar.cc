// The loops of the int8 codec in plain C++: the definition of kernels/codec.h, element by element.
#include <algorithm>

#include "kernels/codec.h"
#include "kernels/host/int8_loops.h"

namespace rondo::host {

namespace {

std::uint32_t peak(const float* values, std::size_t elems) noexcept {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < elems; ++i)
    most = std::max(most, magnitudeBits(values[i]));
  return most;
}

void encode(const float* values, float inverse, std::size_t elems, std::int8_t* codes) noexcept {
  for (std::size_t i = 0; i < elems; ++i)
    codes[i] = Int8Codec::encode(values[i], inverse);
}

void decode(const std::int8_t* codes, float scale, std::size_t elems, float* values) noexcept {
  for (std::size_t i = 0; i < elems; ++i)
    values[i] = Int8Codec::decode(codes[i], scale);
}

void addDecoded(const std::int8_t* codes, float scale, std::size_t elems, float* sums) noexcept {
  for (std::size_t i = 0; i < elems; ++i)
    sums[i] += Int8Codec::decode(codes[i], scale);
}

}  // namespace

const Int8Loops kScalarInt8Loops{&peak, &encode, &decode, &addDecoded};

}  // namespace rondo::host
