// What the host hands to the kernel of compressed collectives besides kernels/cuda/launch.h: plain
// data. A compressed operation is launched with LaunchArgs, as all others; the schedule of each of
// its lanes counts blocks, and has no scratch of its own, so that Lane::scratch leads to a
// CodedLane.
//
//     LaunchArgs --- ranks[r] (RankWork) --- lanes[c] (Lane) --- scratch (CodedLane)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/schedule.h"
#include "kernels/codec.h"
#include "kernels/cuda/launch.h"
#include "kernels/data_type.h"

namespace rondo::device {

/// Where a tensor begins, as kernels/host/block_map.h has it.
struct CodedTensor {
  std::size_t firstBlock = 0;
  std::size_t firstElem = 0;
};

/// The blocks of the buffer with the most elements: each tensor is cut into blocks from its first
/// element on. The device's twin of kernels/host/block_map.h.
struct CodedMap {
  const CodedTensor* tensors = nullptr;  ///< those with elements, in order
  std::size_t tensorCount = 0;
  std::size_t blocks = 0;
  std::size_t elems = 0;
  std::size_t blockElems = 1;  ///< of each block but the last one of a tensor

  /// The elements of block `block`; empty behind the last one.
  RONDO_HD Span block(std::size_t block) const {
    if (block >= blocks) return {elems, 0};
    std::size_t first = 0;
    for (std::size_t end = tensorCount; end - first > 1;) {
      const std::size_t middle = first + (end - first) / 2;
      (tensors[middle].firstBlock <= block ? first : end) = middle;
    }
    const CodedTensor& tensor = tensors[first];
    const std::size_t begin = tensor.firstElem + (block - tensor.firstBlock) * blockElems;
    const std::size_t end = first + 1 < tensorCount ? tensors[first + 1].firstElem : elems;
    return {begin, minOf(blockElems, end - begin)};
  }

  /// The elements of blocks [first, first + count).
  RONDO_HD Span elemsOf(std::size_t first, std::size_t count) const {
    const std::size_t begin = block(first).offset;
    return {begin, block(first + count).offset - begin};
  }
};

/// One lane of a compressed operation.
struct CodedLane {
  Codec codec = Codec::kInt8;
  DataType type = DataType::kFloat32;  ///< of elements; a float
  Collective collective = Collective::kAllReduce;
  CodedMap map;
  /// Elements of the buffer with the most before the input's first one, and before the output's.
  std::size_t inputOrigin = 0;
  std::size_t outputOrigin = 0;
  float* sums = nullptr;  ///< room for the elements of a step's blocks
  /// What error feedback adds, as host::Residuals: for each element of the input, and for each that
  /// this lane adds up, in the order of its steps. Null: there is none.
  float* contributionResiduals = nullptr;
  float* resultResiduals = nullptr;
  /// Receives 1 if some result of this lane is infinite or NaN, on whichever rank, else 0. In
  /// memory that the host sees; valid when the launch is complete.
  std::uint64_t* nonFinite = nullptr;
};

static_assert(std::is_trivially_copyable_v<CodedLane>);

}  // namespace rondo::device
