// The peer table of direct algorithms: every rank but the own one, in rank order.
#pragma once

#include <cstddef>

#include "collectives/patterns/ring.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

class AllPeers {
 public:
  RONDO_HD constexpr AllPeers(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  RONDO_HD constexpr int rank() const { return rank_; }

  RONDO_HD constexpr int recvPeers() const { return ranks_ - 1; }

  RONDO_HD constexpr int recvPeer(int entry) const { return entry < rank_ ? entry : entry + 1; }

  RONDO_HD constexpr int sendPeers() const { return recvPeers(); }

  RONDO_HD constexpr int sendPeer(int entry) const { return recvPeer(entry); }

  RONDO_HD constexpr std::size_t others() const { return static_cast<std::size_t>(ranks_ - 1); }

  /// The whole table as one range.
  RONDO_HD constexpr PeerRange everyone() const { return {0, ranks_ - 1}; }

  /// The entry of `peer` alone.
  RONDO_HD constexpr PeerRange only(int peer) const { return {peer < rank_ ? peer : peer - 1, 1}; }

  /// The peer to turn to at turn `turn` of 0..others()-1: the ranks after the own one first, so
  /// that no two ranks start with the same peer.
  RONDO_HD constexpr int peerAtTurn(std::size_t turn) const {
    return ringRank(rank_, static_cast<int>(turn) + 1, ranks_);
  }

  /// The peer that turns to this rank at turn `turn`; at turn others() this rank itself.
  RONDO_HD constexpr int peerBeforeAtTurn(std::size_t turn) const {
    return ringRank(rank_, -static_cast<int>(turn) - 1, ranks_);
  }

 private:
  int rank_;
  int ranks_;
};

}  // namespace rondo
