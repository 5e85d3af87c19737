// Chain broadcast: the data passes from rank to rank round the ring, chunk by chunk. Every link
// carries the data once, so it is the fastest for large messages; the last rank is n-1 hops away.
//
// Four ranks, root 1:   1 --> 2 --> 3 --> 0
//
// Per loop and rank: 1 step, 1 slot sent (the last rank none). Hops: n-1.
#pragma once

#include "collectives/patterns/ring.h"
#include "collectives/schedule.h"

namespace rondo {

class BroadcastChain {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kBroadcast,
      .name = "chain",
      .summary = "from rank to rank round the ring; each link carries the data once, n-1 hops",
      .minSlots = 1,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit BroadcastChain(const ScheduleArgs& args)
      : rank_(args.rank),
        ranks_(args.ranks),
        place_(ringRank(args.rank, -args.root, args.ranks)),
        partition_(args.share, 1, args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const Span chunk = partition_.chunk(index);
    Step step;
    step.recv = {0, recvPeers()};
    step.send = {0, sendPeers()};
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = place_ == 0 ? Source::kInput : Source::kNone;
    step.to = Sink::kOutput;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return place_ > 0 ? 1 : 0; }

  RONDO_HD constexpr int recvPeer(int) const { return ringRank(rank_, -1, ranks_); }

  RONDO_HD constexpr int sendPeers() const { return place_ < ranks_ - 1 ? 1 : 0; }

  RONDO_HD constexpr int sendPeer(int) const { return ringRank(rank_, 1, ranks_); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto sends = static_cast<std::size_t>(sendPeers());
    return {.steps = size(),
            .slotsSent = partition_.loops() * sends,
            .elemsSent = partition_.elems() * sends,
            .hops = static_cast<std::size_t>(ranks_ - 1)};
  }

 private:
  int rank_;
  int ranks_;
  int place_;  ///< places after the root
  LoopPartition partition_;
};

}  // namespace rondo
