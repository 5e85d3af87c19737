// A binary tree over positions 0..n-1 whose in-order walk is 0, 1, 2, ...: all positions left of a
// node are smaller, all right of it larger. Position 0 is the root and has one child. For n = 8:
//
//     0
//      `------ 4
//          .---'---.
//          2       6
//        .-'-.   .-'-.
//        1   3   5   7
//
// A node whose lowest set bit is b has children at distance b/2 and its parent at distance b;
// leaves are the odd positions. Source: Sanders, Speck, Traeff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009), section 3.
#pragma once

#include "kernels/portability.h"

namespace rondo {

class BinaryTree {
 public:
  /// @param position 0..size-1
  RONDO_HD constexpr BinaryTree(int position, int size)
      : left_(-1), right_(-1), parent_(-1), depth_(0) {
    const int bit = position == 0 ? topBit(size) : position & -position;
    if (position != 0) {
      left_ = bit > 1 ? position - bit / 2 : -1;
      parent_ = parentOf(position, size);
    }
    right_ = rightChild(position, bit, size);
    for (int at = position; at != 0; at = parentOf(at, size))
      ++depth_;
  }

  /// Children and parent as positions; -1 where there is none.
  RONDO_HD constexpr int left() const { return left_; }

  RONDO_HD constexpr int right() const { return right_; }

  RONDO_HD constexpr int parent() const { return parent_; }

  /// Edges between this node and the root.
  RONDO_HD constexpr int depth() const { return depth_; }

  RONDO_HD constexpr bool isRoot() const { return parent_ < 0; }

  RONDO_HD constexpr int children() const { return (left_ < 0 ? 0 : 1) + (right_ < 0 ? 0 : 1); }

  /// Child `index` of children(), left one first.
  RONDO_HD constexpr int child(int index) const {
    return index == 0 && left_ >= 0 ? left_ : right_;
  }

  /// Depth of the deepest node of a tree of `size` nodes: the bit width of size - 1.
  RONDO_HD static constexpr int height(int size) {
    int height = 0;
    for (int rest = size - 1; rest > 0; rest /= 2)
      ++height;
    return height;
  }

 private:
  /// Smallest power of two that is not below `size`, so that half of it is the root's only child.
  RONDO_HD static constexpr int topBit(int size) {
    int bit = 1;
    while (bit < size)
      bit *= 2;
    return bit;
  }

  RONDO_HD static constexpr int parentOf(int position, int size) {
    const int bit = position & -position;
    const int above = (position ^ bit) | (bit * 2);
    return above < size ? above : position ^ bit;
  }

  /// The nearest node below on the right that exists: where the tree is cut off, a child moves up.
  RONDO_HD static constexpr int rightChild(int position, int bit, int size) {
    for (int half = bit / 2; half > 0; half /= 2) {
      if (position + half < size) return position + half;
    }
    return -1;
  }

  int left_;
  int right_;
  int parent_;
  int depth_;
};

}  // namespace rondo
