// Double binary tree all-reduce. Sums rise to the root of a binary tree and the result comes down
// the same tree, chunk by chunk, both directions at once. Even channels use one tree, odd channels
// its twin, in which the inner nodes of the first are leaves (all but one or two), so that with two
// or more channels every rank's links are loaded alike.
//
// Eight ranks, even channels (the twin is the mirror image for even n, shifted by one for odd n):
//
//     0                          up(i):   children's slots + own input -> parent
//      `------ 4                 down(i): parent's slot -> output, children
//          .---'---.
//          2       6             Four ranks: 0 -> 2 -> {1, 3}
//        .-'-.   .-'-.
//        1   3   5   7
//
// A rank at depth d runs down(i) right after up(i + 2d-1): the result of loop i cannot come
// earlier, and waiting longer would fill slots (all ups first deadlocks). The root fuses both.
//
// Per loop: root 1 step, others 2. Slots sent: children + (1 unless root). Hops: 2 bitwidth(n-1).
// Order: left child, own, right child, by position in the tree; rounded at each hop.
// Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35 (2009).
#pragma once

#include "collectives/patterns/lagged_phases.h"
#include "collectives/patterns/tree_node.h"
#include "collectives/schedule.h"

namespace rondo {

class AllReduceDoubleTree {
 public:
  static constexpr AlgorithmInfo kInfo{
      .collective = Collective::kAllReduce,
      .name = "tree",
      .summary =
          "sums rise and results fall in two complementary binary trees; about 2 log2(n) hops",
      .order = FoldOrder::kHopRounded,
      .minSlots = 1,
      .naturalChannels = 2,
      .pipelined = true,
  };

  RONDO_HD constexpr explicit AllReduceDoubleTree(const ScheduleArgs& args)
      : ranks_(args.ranks),
        partition_(args.share, 1, args.chunkElems, args.grain),
        node_(args.rank, placement(args.ranks, args.channel % 2 != 0)),
        phases_(partition_.loops(),
                node_.isRoot() ? 0 : lag(node_.depth()),
                1,
                node_.isRoot() ? 0 : 1) {}

  RONDO_HD constexpr std::size_t size() const { return phases_.size(); }

  RONDO_HD constexpr Step step(std::size_t index) const {
    const LaggedPhases::Position at = phases_.at(index);
    const Span chunk = partition_.chunk(at.loop);
    Step step = at.second ? down() : up();
    step.inputOffset = step.outputOffset = chunk.offset;
    step.elems = chunk.elems;
    return step;
  }

  RONDO_HD constexpr int recvPeers() const { return node_.neighbours(); }

  RONDO_HD constexpr int recvPeer(int entry) const { return node_.neighbour(entry); }

  RONDO_HD constexpr int sendPeers() const { return node_.neighbours(); }

  RONDO_HD constexpr int sendPeer(int entry) const { return node_.neighbour(entry); }

  RONDO_HD constexpr std::size_t scratchElems() const { return 0; }

  constexpr Cost cost() const {
    const auto links = static_cast<std::size_t>(node_.neighbours());
    return {.steps = size(),
            .slotsSent = partition_.loops() * links,
            .elemsSent = partition_.elems() * links,
            .elemsAdded = partition_.elems() * static_cast<std::size_t>(node_.children().count),
            .hops = 2 * static_cast<std::size_t>(BinaryTree::height(ranks_))};
  }

 private:
  RONDO_HD static constexpr TreePlacement placement(int ranks, bool twin) {
    if (!twin) return TreePlacement::startingAt(0, ranks);
    return ranks % 2 == 0 ? TreePlacement::mirrored(ranks)
                          : TreePlacement::startingAt(1 % ranks, ranks);
  }

  RONDO_HD static constexpr std::size_t lag(int depth) {
    return static_cast<std::size_t>(2 * depth - 1);
  }

  RONDO_HD constexpr Step up() const {
    Step step;
    step.recv = node_.children();
    step.send = node_.isRoot() ? node_.children() : node_.parent();
    step.own = Source::kInput;
    step.ownPosition = node_.ownPosition();
    step.to = node_.isRoot() ? Sink::kOutput : Sink::kNone;
    step.last = node_.isRoot();
    return step;
  }

  RONDO_HD constexpr Step down() const {
    Step step;
    step.recv = node_.parent();
    step.send = node_.children();
    step.to = Sink::kOutput;
    return step;
  }

  int ranks_;
  LoopPartition partition_;
  TreeNode node_;
  LaggedPhases phases_;
};

}  // namespace rondo
