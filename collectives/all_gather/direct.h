// Direct all-gather: every rank sends its block to all others in one step and stores theirs as they
// come. One hop, where every pair of ranks is directly connected.
//
// Four ranks, block of rank 0:   0 --A--> 1, 2, 3
//
// Loop i+1 is sent before loop i is collected, so that collecting rarely waits.
// Per loop and rank: n steps, n-1 slots sent. Hops: 1.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/schedule.h"

namespace rondo {

class AllGatherDirect {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllGather,
      .name = "direct",
      .summary = "every block goes straight to everyone; one hop",
      .minSlots = 2,
  };

  RONDO_HD constexpr explicit AllGatherDirect(const ScheduleArgs& args)
      : rank_(args.rank),
        layout_(args.layout),
        origin_(args.share.offset),
        partition_(args.share.elems, 1, args.chunkElems, args.grain),
        peers_(args.rank, args.ranks),
        phases_(partition_.loops(), 1, 1, others()) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const int owner = at.second ? peers_.peerAtTurn(static_cast<int>(at.turn)) : rank_;
    const Span chunk = partition_.chunk(at.loop, 0);
    Step step;
    step.inputOffset = origin_ + chunk.offset;
    step.outputOffset = layout_.offset(owner) + origin_ + chunk.offset;
    step.elems = chunk.elems;
    step.to = Sink::kOutput;
    if (at.second) {
      step.recv = {peers_.entryOf(owner), 1};
    } else {
      step.own = Source::kInput;
      step.send = peers_.everyone();
    }
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return peers_.count(); }

  RONDO_HD constexpr int recvPeer(int entry) const { return peers_.peer(entry); }

  RONDO_HD constexpr int sendPeers() const { return peers_.count(); }

  RONDO_HD constexpr int sendPeer(int entry) const { return peers_.peer(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    return {.steps = size(),
            .slotsSent = partition_.loops() * others(),
            .elemsSent = partition_.elems() * others(),
            .hops = others() > 0 ? 1U : 0U};
  }

 private:
  RONDO_HD constexpr std::size_t others() const { return static_cast<std::size_t>(peers_.count()); }

  int rank_;
  Layout layout_;
  std::size_t origin_;
  LoopPartition partition_;
  AllPeers peers_;
  LaggedPhases phases_;
};

}  // namespace rondo
