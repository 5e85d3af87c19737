// Input data, made from a seed: the same on every run and machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data_type.h"
#include "tests/collective/reference.h"

namespace rondo::testing {

/// Scrambles a number: steps of one give unrelated results.
std::uint64_t scramble(std::uint64_t number);

enum class InputKind : std::uint8_t {
  kSmall,     ///< 1 or 2: sums and products are exact in every type
  kOrdinary,  ///< integers of all bits; floats of random mantissas between 2^-4 and 2^4
  kRaw,       ///< all bits random, with NaN, infinities, zeros of both signs and denormals
};

inline constexpr int kInputKindCount = 3;

/// "small", ...
const char* inputKindName(InputKind kind);

/// `count` elements. Truth values are other numbers than 0 and 1 only in kRaw.
Bytes makeInput(DataType type, InputKind kind, std::size_t count, std::uint64_t seed);

}  // namespace rondo::testing
