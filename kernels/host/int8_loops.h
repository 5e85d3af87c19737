// The loops of the int8 codec over the elements of one block, one variant per instruction set.
// Callers use kernels/host/block_coder.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/combine.h"

namespace rondo::host {

/// Nothing is read or written outside the `elems` elements of each range; no alignment is needed.
/// Precondition: round-to-nearest and denormals on.
struct Int8Loops {
  /// The largest magnitudeBits() of `values`; 0 for none.
  std::uint32_t (*peak)(const float* values, std::size_t elems) noexcept;
  /// Int8Codec::encode() of each. Precondition: the block is finite.
  void (*encode)(const float* values,
                 float inverse,
                 std::size_t elems,
                 std::int8_t* codes) noexcept;
  /// Int8Codec::decode() of each.
  void (*decode)(const std::int8_t* codes, float scale, std::size_t elems, float* values) noexcept;
  /// Adds Int8Codec::decode() of each to `sums`.
  void (*addDecoded)(const std::int8_t* codes,
                     float scale,
                     std::size_t elems,
                     float* sums) noexcept;
};

/// Precondition: simdTargetUsable(target).
const Int8Loops& int8Loops(SimdTarget target);

/// The variants.
extern const Int8Loops kScalarInt8Loops;
extern const Int8Loops kAvx2Int8Loops;
extern const Int8Loops kAvx512Int8Loops;

}  // namespace rondo::host
