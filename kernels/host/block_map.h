// Which elements of a buffer the blocks of a compressed operation are: tensors lie one after
// another, and each is cut into blocks from its first element on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/partition.h"

namespace rondo::host {

class BlockMap {
 public:
  /// Where a tensor begins.
  struct Tensor {
    std::size_t firstBlock = 0;
    std::size_t firstElem = 0;
  };

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

  std::size_t elems() const { return elems_; }

  /// Elements of the largest block.
  std::size_t blockElems() const { return blockElems_; }

  /// Those with elements, in order.
  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// The elements of block `block`; empty behind the last one.
  Span block(std::size_t block) const { return Walk(*this, block).span(); }

  /// Goes over blocks in their order.
  class Walk {
   public:
    /// @param block the first one; blocks() at most
    Walk(const BlockMap& map, std::size_t block) : map_(&map), block_(block) {
      const auto after = std::ranges::upper_bound(map.tensors_, block, {}, &Tensor::firstBlock);
      tensor_ =
          static_cast<std::size_t>(after - map.tensors_.begin()) - (map.tensors_.empty() ? 0 : 1);
    }

    Span span() const {
      if (block_ >= map_->blocks_) return {map_->elems_, 0};
      const Tensor& tensor = map_->tensors_[tensor_];
      const std::size_t first = tensor.firstElem + (block_ - tensor.firstBlock) * map_->blockElems_;
      return {first, std::min(map_->blockElems_, map_->endOf(tensor_) - first)};
    }

    void next() {
      ++block_;
      const bool last = tensor_ + 1 == map_->tensors_.size();
      if (!last && map_->tensors_[tensor_ + 1].firstBlock == block_) ++tensor_;
    }

   private:
    const BlockMap* map_;
    std::size_t block_;
    std::size_t tensor_ = 0;
  };

  /// The elements of blocks [first, first + count).
  Span elemsOf(std::size_t first, std::size_t count) const {
    const std::size_t begin = block(first).offset;
    return {begin, block(first + count).offset - begin};
  }

 private:
  std::size_t endOf(std::size_t tensor) const {
    return tensor + 1 < tensors_.size() ? tensors_[tensor + 1].firstElem : elems_;
  }

  std::size_t blockElems_;
  std::size_t blocks_ = 0;
  std::size_t elems_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace rondo::host
