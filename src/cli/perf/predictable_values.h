// The values behind PredictableData, one element at a time: what each rank contributes to element
// `index`, and what all contributions together must give.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data_type.h"

namespace rondo::perf {

/// The bits of an element, zero-extended.
using Word = std::uint64_t;

/// Well mixed bits that depend on all three.
std::uint64_t mixedBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// The code of `value` in a float type, rounded to nearest even.
/// @param value finite, and no larger than the type's largest number
Word encodeFloat(DataType type, double value);

/// What a rank sends where the data are only moved: any bits; for truth values 0 or 1.
Word movedElement(DataType type, std::uint64_t seed, int rank, std::size_t index);

/// The operands of one reduction.
struct ReductionValues {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int ranks = 1;
  std::uint64_t seed = 0;

  /// What `rank` contributes to element `index`.
  Word input(int rank, std::size_t index) const;

  /// What element `index` must be after the reduction.
  Word reduced(std::size_t index) const;

  /// Premulsum's factor of `rank`.
  Word scale(int rank) const;
};

}  // namespace rondo::perf
