// The ring 0 -> 1 -> ... -> n-1 -> 0: distances around it and neighbours on it.
#pragma once

#include "kernels/portability.h"

namespace rondo {

/// The rank `distance` places after `rank`; before it if negative. |distance| may exceed `ranks`.
RONDO_HD constexpr int ringRank(int rank, int distance, int ranks) {
  const int at = (rank + distance) % ranks;
  return at < 0 ? at + ranks : at;
}

/// A rank's place on the ring, with the peer tables of ring algorithms: receives from the rank
/// before, sends to the rank after.
class RingPlace {
 public:
  RONDO_HD constexpr RingPlace(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  RONDO_HD constexpr int rank() const { return rank_; }

  RONDO_HD constexpr int ranks() const { return ranks_; }

  /// The rank `distance` places after this one.
  RONDO_HD constexpr int after(int distance) const { return ringRank(rank_, distance, ranks_); }

  RONDO_HD constexpr int recvPeers() const { return ranks_ > 1 ? 1 : 0; }

  RONDO_HD constexpr int recvPeer(int) const { return after(-1); }

  RONDO_HD constexpr int sendPeers() const { return ranks_ > 1 ? 1 : 0; }

  RONDO_HD constexpr int sendPeer(int) const { return after(1); }

 private:
  int rank_;
  int ranks_;
};

}  // namespace rondo
