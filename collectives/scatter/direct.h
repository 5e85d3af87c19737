// Direct scatter: the root sends every rank its block, a chunk to each in rank order, and keeps its
// own. One hop.
//
// Four ranks, root 1:   1 --A--> 0,  1 --C--> 2,  1 --D--> 3
//
// Per loop: n steps, n-1 slots sent at the root; 1 step at the others. Hops: 1.
#pragma once

#include "collectives/patterns/block_partition.h"
#include "collectives/patterns/star.h"
#include "collectives/schedule.h"

namespace rondo {

class ScatterDirect : public Star {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kScatter,
      .name = "direct",
      .summary = "every block goes straight from the root to its rank; one hop",
      .minSlots = 1,
      .variedBlocks = true,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit ScatterDirect(const ScheduleArgs& args)
      : Star(args.rank, args.ranks, args.root), blocks_(args, args.layout) {}

  RONDO_HD constexpr std::size_t size() const { return blocks_.loops() * arms(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const int owner = armAt(index);
    const Span chunk = blocks_.chunk(owner, index / arms());
    Step step;
    if (chunk.elems == 0) return step;
    step.inputOffset = blocks_.offset(owner) + chunk.offset;
    step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    if (isRoot()) {
      step.own = Source::kInput;
    } else {
      step.recv = rootEntry();
    }
    if (owner == rank()) {
      step.to = Sink::kOutput;
    } else {
      step.send = only(owner);
    }
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return isRoot() ? 0 : 1; }

  RONDO_HD constexpr int recvPeer(int) const { return root(); }

  RONDO_HD constexpr int sendPeers() const { return isRoot() ? rim() : 0; }

  RONDO_HD constexpr int sendPeer(int entry) const { return peer(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const Cost sent = isRoot() ? blocks_.costOfAllBut(rank()) : Cost{};
    return {.steps = size(),
            .slotsSent = sent.slotsSent,
            .elemsSent = sent.elemsSent,
            .hops = rim() > 0 ? 1U : 0U};
  }

 private:
  BlockPartition blocks_;
};

}  // namespace rondo
