// Dissemination barrier: in round k every rank tells the rank 2^k after it that it, and all it has
// heard of, have arrived. After ceil(log2 n) rounds everyone has heard of everyone.
//
// Four ranks:   round 0:  0 -> 1 -> 2 -> 3 -> 0        round 1:  0 <-> 2,  1 <-> 3
//
// A step waits for round k-1 and sends round k. The slots are empty.
// Per rank: ceil(log2 n) + 1 steps, ceil(log2 n) slots sent. Hops: ceil(log2 n).
// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int. J. Parallel
// Programming 17 (1988), section 3.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"

namespace rondo {

class BarrierDissemination {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kBarrier,
      .name = "dissemination",
      .summary = "tells ranks 1, 2, 4, ... further on; log2(n) hops",
      .minSlots = 1,
  };

  RONDO_HD constexpr explicit BarrierDissemination(const ScheduleArgs& args)
      : rank_(args.rank), ranks_(args.ranks) {
    while ((1 << rounds_) < ranks_)
      ++rounds_;
  }

  RONDO_HD constexpr std::size_t size() const {
    return rounds_ == 0 ? 0 : static_cast<std::size_t>(rounds_ + 1);
  }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const int round = static_cast<int>(index);
    Step step;
    step.recv = {round == 0 ? 0 : round - 1, round == 0 ? 0 : 1};
    step.send = {round, round < rounds_ ? 1 : 0};
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return rounds_; }

  RONDO_HD constexpr int recvPeer(int entry) const {
    return ringRank(rank_, -(1 << entry), ranks_);
  }

  RONDO_HD constexpr int sendPeers() const { return rounds_; }

  RONDO_HD constexpr int sendPeer(int entry) const { return ringRank(rank_, 1 << entry, ranks_); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto rounds = static_cast<std::size_t>(rounds_);
    return {.steps = size(), .slotsSent = rounds, .hops = rounds};
  }

 private:
  int rank_;
  int ranks_;
  int rounds_ = 0;
};

}  // namespace rondo
