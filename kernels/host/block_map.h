// The table of tensors that kernels/block_view.h reads, and a way over its blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/block_view.h"

namespace rondo::host {

class BlockMap {
 public:
  /// @param blockElems elements of each block but the last one of a tensor; > 0
  explicit BlockMap(std::size_t blockElems) : blockElems_(blockElems) {}

  /// The next tensor. Without elements it has no block.
  void add(std::size_t elems) {
    if (elems == 0) return;
    tensors_.push_back({blocks_, elems_});
    blocks_ += ceilDiv(elems, blockElems_);
    elems_ += elems;
  }

  std::size_t blocks() const { return blocks_; }

  /// Elements of the largest block.
  std::size_t blockElems() const { return blockElems_; }

  /// Those with elements, in order.
  const std::vector<BlockTensor>& tensors() const { return tensors_; }

  /// Valid until a tensor is added, or this object ends.
  BlockView view() const {
    return {tensors_.data(), tensors_.size(), blocks_, elems_, blockElems_};
  }

  /// The elements of blocks [first, first + count).
  Span elemsOf(std::size_t first, std::size_t count) const { return view().elemsOf(first, count); }

  /// Goes over blocks in their order.
  class Walk {
   public:
    /// @param block the first one; blocks() at most
    Walk(const BlockMap& map, std::size_t block)
        : view_(map.view()), block_(block), tensor_(view_.tensorOf(block)) {}

    Span span() const { return view_.blockOf(tensor_, block_); }

    void next() {
      ++block_;
      const bool last = tensor_ + 1 >= view_.tensorCount;
      if (!last && view_.tensors[tensor_ + 1].firstBlock == block_) ++tensor_;
    }

   private:
    BlockView view_;
    std::size_t block_;
    std::size_t tensor_;
  };

 private:
  std::size_t blockElems_;
  std::size_t blocks_ = 0;
  std::size_t elems_ = 0;
  std::vector<BlockTensor> tensors_;
};

}  // namespace rondo::host
