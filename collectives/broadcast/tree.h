// Tree broadcast: the data falls from the root through a binary tree, chunk by chunk.
//
// Four ranks, root 1 (positions 0 1 2 3 of patterns/binary_tree.h are ranks 1 2 3 0):
//
//     1 --> 3 --> 2
//            `--> 0
//
// Per loop and rank: 1 step, one slot sent per child. Hops: bitwidth(n-1).
// Source: as all_reduce/double_tree.h.
#pragma once

#include "collectives/patterns/tree_node.h"
#include "collectives/schedule.h"

namespace rondo {

class BroadcastTree {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kBroadcast,
      .name = "tree",
      .summary = "down a binary tree; about log2(n) hops",
      .minSlots = 1,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit BroadcastTree(const ScheduleArgs& args)
      : ranks_(args.ranks),
        partition_(args.share, 1, args.chunkElems, args.grain),
        node_(args.rank, TreePlacement::startingAt(args.root, args.ranks)) {}

  RONDO_HD constexpr std::size_t size() const { return partition_.loops(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const Span chunk = partition_.chunk(index);
    Step step;
    step.recv = {0, recvPeers()};
    step.send = {0, sendPeers()};
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    step.own = node_.isRoot() ? Source::kInput : Source::kNone;
    step.to = Sink::kOutput;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return node_.parent().count; }

  RONDO_HD constexpr int recvPeer(int) const { return node_.neighbour(node_.parent().first); }

  RONDO_HD constexpr int sendPeers() const { return node_.children().count; }

  RONDO_HD constexpr int sendPeer(int entry) const { return node_.neighbour(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto sends = static_cast<std::size_t>(sendPeers());
    return {.steps = size(),
            .slotsSent = partition_.loops() * sends,
            .elemsSent = partition_.elems() * sends,
            .hops = static_cast<std::size_t>(BinaryTree::height(ranks_))};
  }

 private:
  int ranks_;
  LoopPartition partition_;
  TreeNode node_;
};

}  // namespace rondo
