// The peer table of direct algorithms: every rank but the own one, in rank order.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

class AllPeers {
 public:
  RONDO_HD constexpr AllPeers(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  RONDO_HD constexpr int count() const { return ranks_ - 1; }

  RONDO_HD constexpr int peer(int entry) const { return entry < rank_ ? entry : entry + 1; }

  RONDO_HD constexpr int entryOf(int peer) const { return peer < rank_ ? peer : peer - 1; }

  /// The whole table as one range.
  RONDO_HD constexpr PeerRange everyone() const { return {0, count()}; }

  /// The peer to turn to at turn `turn` of 0..count()-1: the ranks after the own one first, so that
  /// no two ranks start with the same peer.
  RONDO_HD constexpr int peerAtTurn(int turn) const { return ringRank(rank_, turn + 1, ranks_); }

 private:
  int rank_;
  int ranks_;
};

}  // namespace rondo
