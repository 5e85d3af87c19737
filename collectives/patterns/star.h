// The root in the middle, every other rank on an arm of its own: the peers of gather and scatter.
#pragma once

#include <cstddef>

#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

class Star {
 public:
  RONDO_HD constexpr Star(int rank, int ranks, int root)
      : rank_(rank), ranks_(ranks), root_(root) {}

  RONDO_HD constexpr int rank() const { return rank_; }

  RONDO_HD constexpr int root() const { return root_; }

  RONDO_HD constexpr bool isRoot() const { return rank_ == root_; }

  /// Ranks around the root.
  RONDO_HD constexpr int rim() const { return ranks_ - 1; }

  /// Blocks that pass this rank in one loop: all of them at the root, else its own.
  RONDO_HD constexpr std::size_t arms() const {
    return isRoot() ? static_cast<std::size_t>(ranks_) : 1;
  }

  /// Whose block step `index` is about, `arms()` steps being a loop.
  RONDO_HD constexpr int armAt(std::size_t index) const {
    return isRoot() ? static_cast<int>(index % arms()) : rank_;
  }

  /// At the root: the rank behind an entry of its table, in rank order.
  RONDO_HD constexpr int peer(int entry) const { return entry < root_ ? entry : entry + 1; }

  /// At the root: the entry of `peer` alone.
  RONDO_HD constexpr PeerRange only(int peer) const { return {peer < root_ ? peer : peer - 1, 1}; }

  /// Elsewhere: the only entry.
  RONDO_HD constexpr PeerRange rootEntry() const { return {0, 1}; }

 private:
  int rank_;
  int ranks_;
  int root_;
};

}  // namespace rondo
