// Pairwise all-to-all: in turn t rank r exchanges blocks with rank t - r (mod n), whose partner in
// that turn is r; chunks of what it sends and of what it receives alternate. One connection each
// way is in use at a time, whatever the number of ranks.
//
// Four ranks, turns of rank 0:   1 <-> 0   then   2 <-> 0   then   3 <-> 0;   its own block last
//
// In place works: a chunk is sent before the one that takes its place is stored.
// Per loop and rank: 2n-1 steps, n-1 slots sent. Hops: n; 1 with two ranks.
#pragma once

#include "collectives/patterns/all_peers.h"
#include "collectives/schedule.h"

namespace rondo {

class AllToAllPairwise : public AllPeers {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllToAll,
      .name = "pairwise",
      .summary = "exchanges blocks with one rank at a time; few connections in use at once",
      .minSlots = 1,
      .storesOverSentInput = true,
  };

  RONDO_HD constexpr explicit AllToAllPairwise(const ScheduleArgs& args)
      : AllPeers(args.rank, args.ranks),
        layout_(args.layout),
        partition_(args.share, 1, args.chunkElems, args.grain) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops() * (2 * others() + 1); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const std::size_t exchange = 2 * partition_.loops();
    const std::size_t turn = index / exchange;
    const std::size_t inTurn = index % exchange;
    const bool keeps = turn == others();
    const int peer = keeps ? rank() : partner(turn);
    const Span chunk = partition_.chunk(keeps ? inTurn : inTurn / 2);
    Step step;
    step.inputOffset = step.outputOffset = layout_.offset(peer) + chunk.offset;
    step.elems = chunk.elems;
    const bool sends = !keeps && inTurn % 2 == 0;
    if (sends) {
      step.send = only(peer);
    } else {
      step.to = Sink::kOutput;
    }
    if (sends || keeps) {
      step.own = Source::kInput;
    } else {
      step.recv = only(peer);
    }
    return step;
  }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const std::size_t all = others() + 1;
    return {.steps = size(),
            .slotsSent = partition_.loops() * others(),
            .elemsSent = partition_.elems() * others(),
            .hops = all > 2 ? all : others()};
  }

 private:
  /// Turns at which this rank would be its own partner are left out.
  RONDO_HD constexpr int partner(std::size_t turn) const {
    const int all = static_cast<int>(others()) + 1;
    const int alone = 2 * rank() % all;
    const int at = static_cast<int>(turn) + (static_cast<int>(turn) < alone ? 0 : 1);
    return ringRank(at, -rank(), all);
  }

  Layout layout_;
  LoopPartition partition_;
};

}  // namespace rondo
