// Direct gather: every rank sends its block straight to the root, which takes a chunk of each in
// rank order, its own among them. One hop.
//
// Four ranks, root 1:   0 --A--> 1,  2 --C--> 1,  3 --D--> 1
//
// Per loop: n steps at the root; 1 step, 1 slot sent at the others. Hops: 1.
#pragma once

#include "collectives/patterns/block_partition.h"
#include "collectives/patterns/star.h"
#include "collectives/schedule.h"

namespace rondo {

class GatherDirect : public Star {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kGather,
      .name = "direct",
      .summary = "every block goes straight to the root; one hop",
      .minSlots = 1,
      .variedBlocks = true,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit GatherDirect(const ScheduleArgs& args)
      : Star(args.rank, args.ranks, args.root), blocks_(args, args.layout) {}

  RONDO_HD constexpr std::size_t size() const { return blocks_.loops() * arms(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const int owner = armAt(index);
    const Span chunk = blocks_.chunk(owner, index / arms());
    Step step;
    if (chunk.elems == 0) return step;
    step.inputOffset = chunk.offset;
    step.outputOffset = blocks_.offset(owner) + chunk.offset;
    step.elems = chunk.elems;
    if (owner == rank()) {
      step.own = Source::kInput;
    } else {
      step.recv = only(owner);
    }
    if (isRoot()) {
      step.to = Sink::kOutput;
    } else {
      step.send = rootEntry();
    }
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return isRoot() ? rim() : 0; }

  RONDO_HD constexpr int recvPeer(int entry) const { return peer(entry); }

  RONDO_HD constexpr int sendPeers() const { return isRoot() ? 0 : 1; }

  RONDO_HD constexpr int sendPeer(int) const { return root(); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const Cost sent = isRoot() ? Cost{} : blocks_.costOf(rank());
    return {.steps = size(),
            .slotsSent = sent.slotsSent,
            .elemsSent = sent.elemsSent,
            .hops = rim() > 0 ? 1U : 0U};
  }

 private:
  BlockPartition blocks_;
};

}  // namespace rondo
