#include "tests/collective/test_inputs.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace rondo::testing {

namespace {

double ordinaryFloat(std::uint64_t random) {
  const double mantissa = 1 + std::ldexp(static_cast<double>(random >> 12), -52);
  const int exponent = static_cast<int>(random % 8) - 4;
  return std::ldexp((random & 8) != 0 ? -mantissa : mantissa, exponent);
}

double specialFloat(std::uint64_t random) {
  constexpr std::array<double, 8> kSpecials = {0.0,
                                               -0.0,
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity(),
                                               1.0,
                                               1e-7,
                                               65504.0,
                                               std::numeric_limits<double>::quiet_NaN()};
  return kSpecials[random % kSpecials.size()];
}

void appendRaw(DataType type, std::uint64_t random, Bytes& bytes) {
  const std::size_t elemBytes = elementBytes(type);
  bytes.resize(bytes.size() + elemBytes);
  std::memcpy(bytes.data() + bytes.size() - elemBytes, &random, elemBytes);
}

}  // namespace

std::uint64_t scramble(std::uint64_t number) {
  // The finaliser of MurmurHash3 (Appleby, 2011; public domain constants).
  number += 0x9e3779b97f4a7c15ULL;
  number = (number ^ (number >> 33)) * 0xff51afd7ed558ccdULL;
  number = (number ^ (number >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return number ^ (number >> 33);
}

const char* inputKindName(InputKind kind) {
  constexpr std::array<const char*, kInputKindCount> kNames = {"small", "ordinary", "raw"};
  return kNames[static_cast<std::size_t>(kind)];
}

Bytes makeInput(DataType type, InputKind kind, std::size_t count, std::uint64_t seed) {
  Bytes bytes;
  bytes.reserve(count * elementBytes(type));
  std::uint64_t random = scramble(seed);
  for (std::size_t i = 0; i < count; ++i) {
    random = scramble(random + i);
    const bool truth = type == DataType::kBool;
    if (kind == InputKind::kSmall) {
      appendElement(type, static_cast<double>(truth ? random % 2 : 1 + random % 2), bytes);
    } else if (kind == InputKind::kOrdinary && isFloat(type)) {
      appendElement(type, ordinaryFloat(random), bytes);
    } else if (kind == InputKind::kOrdinary) {
      appendRaw(type, truth ? random % 2 : random, bytes);
    } else if (isFloat(type) && random % 8 == 0) {
      appendElement(type, specialFloat(random >> 8), bytes);
    } else {
      appendRaw(type, truth && random % 4 == 0 ? 0 : random >> 3, bytes);
    }
  }
  return bytes;
}

}  // namespace rondo::testing
