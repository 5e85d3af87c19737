// One rank's place in a tree of ranks, with the peer tables that tree algorithms share: children
// first (left, right), then the parent.
#pragma once

#include "collectives/patterns/binary_tree.h"
#include "collectives/patterns/ring.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

/// How ranks take the positions of the tree.
class TreePlacement {
 public:
  /// Rank `root` at position 0, the ranks after it at 1, 2, ... round the ring.
  RONDO_HD static constexpr TreePlacement startingAt(int root, int ranks) {
    return TreePlacement(ranks, root, false);
  }

  /// Rank ranks-1 at position 0, the ranks before it at 1, 2, ...
  RONDO_HD static constexpr TreePlacement mirrored(int ranks) {
    return TreePlacement(ranks, 0, true);
  }

  RONDO_HD constexpr int positionOf(int rank) const {
    return mirrored_ ? ranks_ - 1 - rank : ringRank(rank, -shift_, ranks_);
  }

  RONDO_HD constexpr int rankAt(int position) const {
    return mirrored_ ? ranks_ - 1 - position : ringRank(position, shift_, ranks_);
  }

  RONDO_HD constexpr int ranks() const { return ranks_; }

 private:
  RONDO_HD constexpr TreePlacement(int ranks, int shift, bool mirrored)
      : ranks_(ranks), shift_(shift), mirrored_(mirrored) {}

  int ranks_;
  int shift_;
  bool mirrored_;
};

class TreeNode {
 public:
  RONDO_HD constexpr TreeNode(int rank, TreePlacement placement)
      : placement_(placement), tree_(placement.positionOf(rank), placement.ranks()) {}

  RONDO_HD constexpr bool isRoot() const { return tree_.isRoot(); }

  RONDO_HD constexpr int depth() const { return tree_.depth(); }

  RONDO_HD constexpr int neighbours() const { return tree_.children() + (isRoot() ? 0 : 1); }

  /// Rank of table entry `entry`.
  RONDO_HD constexpr int neighbour(int entry) const {
    return placement_.rankAt(entry < tree_.children() ? tree_.child(entry) : tree_.parent());
  }

  RONDO_HD constexpr PeerRange children() const { return {0, tree_.children()}; }

  /// Empty at the root.
  RONDO_HD constexpr PeerRange parent() const { return {tree_.children(), isRoot() ? 0 : 1}; }

  /// Children folded before the own contribution: those left of this node.
  RONDO_HD constexpr int ownPosition() const { return tree_.left() < 0 ? 0 : 1; }

 private:
  TreePlacement placement_;
  BinaryTree tree_;
};

}  // namespace rondo
