// Encodes and decodes one block at a time on host memory: kernels/codec.h with the loops of an
// instruction set. Every variant gives the same bytes.
#pragma once

#include <cstddef>

#include "kernels/codec.h"
#include "kernels/host/combine.h"
#include "kernels/host/int8_loops.h"

namespace rondo::host {

/// Where one block of a run lies. Byte is std::byte or const std::byte.
template <class Byte>
struct BlockPlace {
  Byte* scale = nullptr;  ///< not looked at by codecs without one
  Byte* codes = nullptr;

  /// Block `block` of the run of `blocks` blocks at `run`, whose element `elem` is the block's
  /// first.
  static BlockPlace in(
      Byte* run, Codec codec, std::size_t blocks, std::size_t block, std::size_t elem) {
    return {run + scaleOffset(codec, block), run + codeOffset(codec, blocks, elem)};
  }
};

using EncodedBlock = BlockPlace<const std::byte>;
using BlockSpace = BlockPlace<std::byte>;

/// All functions: nothing is read or written outside the block's bytes and `elems` floats; codes
/// of two bytes are aligned to them. They never fail or allocate.
/// Precondition: round-to-nearest and denormals on (FloatEnvironment).
/// @threads any
class BlockCoder {
 public:
  /// Precondition: simdTargetUsable(target).
  BlockCoder(Codec codec, SimdTarget target);

  Codec codec() const { return codec_; }

  void encode(const float* values, std::size_t elems, BlockSpace to) const noexcept;

  void decode(EncodedBlock from, std::size_t elems, float* values) const noexcept;

  /// sums[i] = sums[i] + decoded[i], each one addition of fp32.
  void addDecoded(EncodedBlock from, std::size_t elems, float* sums) const noexcept;

  /// Whether decode() gave something that is not finite; faster than to look at all of it where the
  /// codec can tell.
  /// @param values what decode() gave for `from`
  bool decodedNonFinite(EncodedBlock from, const float* values, std::size_t elems) const noexcept;

 private:
  Codec codec_;
  const Int8Loops* int8_;
  /// Other codecs are element types of their own: what reads and writes them in reductions.
  CombineFn cast_ = nullptr;
};

}  // namespace rondo::host
