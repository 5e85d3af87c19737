// Which elements of a buffer the blocks of a compressed operation are: tensors lie one after
// another, and each is cut into blocks from its first element on. By arithmetic over a table that
// somebody else has, for host and device alike.
#pragma once

#include <cstddef>

#include "collectives/partition.h"
#include "kernels/portability.h"

namespace rondo {

/// Where a tensor begins.
struct BlockTensor {
  std::size_t firstBlock = 0;
  std::size_t firstElem = 0;
};

struct BlockView {
  const BlockTensor* tensors = nullptr;  ///< those with elements, in order; not owned
  std::size_t tensorCount = 0;
  std::size_t blocks = 0;
  std::size_t elems = 0;
  std::size_t blockElems = 1;  ///< of each block but the last one of a tensor; > 0

  /// The tensor that has block `block`; behind the last block the last tensor, or 0 if there is
  /// none.
  RONDO_HD std::size_t tensorOf(std::size_t block) const {
    std::size_t first = 0;
    for (std::size_t end = tensorCount; end - first > 1;) {
      const std::size_t middle = first + (end - first) / 2;
      (tensors[middle].firstBlock <= block ? first : end) = middle;
    }
    return first;
  }

  /// The elements of block `block`; empty behind the last one.
  /// @param tensor that has it: tensorOf()
  RONDO_HD Span blockOf(std::size_t tensor, std::size_t block) const {
    if (block >= blocks) return {elems, 0};
    const BlockTensor& whole = tensors[tensor];
    const std::size_t begin = whole.firstElem + (block - whole.firstBlock) * blockElems;
    const std::size_t end = tensor + 1 < tensorCount ? tensors[tensor + 1].firstElem : elems;
    return {begin, minOf(blockElems, end - begin)};
  }

  /// The same, of whichever tensor.
  RONDO_HD Span block(std::size_t block) const { return blockOf(tensorOf(block), block); }

  /// The elements of blocks [first, first + count).
  RONDO_HD Span elemsOf(std::size_t first, std::size_t count) const {
    const std::size_t begin = block(first).offset;
    return {begin, block(first + count).offset - begin};
  }
};

}  // namespace rondo
