// One-shot all-reduce: every rank sends its whole input to every other rank, and each adds all of
// them up for itself. One hop, so it is the fastest for small messages; it moves n-1 times the
// data.
//
// Four ranks:   0 --A--> 1 2 3,  1 --B--> 0 2 3,  2 --C--> 0 1 3,  3 --D--> 0 1 2
//               then everyone: A B C D
//
// Loop i is sent before loop i-1 is added up, so that the sum never waits.
// Per loop and rank: 2 steps, n-1 slots sent. Hops: 1.
// Order: ranks 0, 1, ..., n-1; rounded once.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceOneShot {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "one_shot",
      .summary = "everyone sends everything to everyone; one hop, for small messages; reproducible",
      .order = FoldOrder::kRankOrder,
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit AllReduceOneShot(const ScheduleArgs& args)
      : rank_(args.rank),
        origin_(args.share.offset),
        partition_(args.share.elems, 1, args.chunkElems, args.grain),
        peers_(args.rank, args.ranks),
        phases_(partition_.loops(), 1, peers_.count() > 0 ? 1 : 0, 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const Span chunk = partition_.chunk(at.loop, 0);
    Step step;
    step.inputOffset = step.outputOffset = origin_ + chunk.offset;
    step.elems = chunk.elems;
    step.own = Source::kInput;
    if (!at.second) {
      step.send = peers_.everyone();
      return step;
    }
    step.recv = peers_.everyone();
    step.ownPosition = rank_;
    step.to = Sink::kOutput;
    step.last = true;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return peers_.count(); }

  RONDO_HD constexpr int recvPeer(int entry) const { return peers_.peer(entry); }

  RONDO_HD constexpr int sendPeers() const { return peers_.count(); }

  RONDO_HD constexpr int sendPeer(int entry) const { return peers_.peer(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto others = static_cast<std::size_t>(peers_.count());
    return {.steps = size(),
            .slotsSent = partition_.loops() * others,
            .elemsSent = partition_.elems() * others,
            .hops = others > 0 ? 1U : 0U};
  }

 private:
  int rank_;
  std::size_t origin_;
  LoopPartition partition_;
  AllPeers peers_;
  LaggedPhases phases_;
};

}  // namespace rondo
