// The index arithmetic that algorithms share (collectives/patterns/), against plain definitions.
#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/patterns/all_peers.h"
#include "collectives/patterns/binary_tree.h"
#include "collectives/patterns/binomial_blocks.h"
#include "collectives/patterns/lagged_phases.h"
#include "collectives/patterns/ring.h"
#include "collectives/patterns/tree_node.h"

namespace rondo {
namespace {

TEST(Ring, WrapsBothWays) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int distance = -3 * ranks; distance <= 3 * ranks; ++distance) {
        const int at = ringRank(rank, distance, ranks);
        EXPECT_TRUE(at >= 0 && at < ranks);
        EXPECT_EQ((rank + distance - at) % ranks, 0);
      }
    }
  }
}

TEST(AllPeers, ListsEverybodyElseInOrder) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const AllPeers peers(rank, ranks);
      ASSERT_EQ(peers.recvPeers(), ranks - 1);
      int last = -1;
      for (int entry = 0; entry < peers.recvPeers(); ++entry) {
        EXPECT_GT(peers.recvPeer(entry), last);
        EXPECT_NE(peers.recvPeer(entry), rank);
        EXPECT_EQ(peers.only(peers.recvPeer(entry)), (PeerRange{entry, 1}));
        EXPECT_EQ(peers.sendPeer(entry), peers.recvPeer(entry));
        last = peers.recvPeer(entry);
      }
      EXPECT_LT(last, ranks);
    }
  }
}

/// In each turn every rank turns to somebody else, and nobody is turned to twice.
TEST(AllPeers, TurnsArePermutations) {
  for (int ranks = 2; ranks <= 20; ++ranks) {
    for (std::size_t turn = 0; turn + 1 < static_cast<std::size_t>(ranks); ++turn) {
      std::set<int> chosen;
      for (int rank = 0; rank < ranks; ++rank)
        chosen.insert(AllPeers(rank, ranks).peerAtTurn(turn));
      EXPECT_EQ(static_cast<int>(chosen.size()), ranks);
    }
  }
}

/// One node as the definition gives it.
struct PlainNode {
  int left = -1;
  int right = -1;
  int parent = -1;
  int depth = 0;
};

/// Builds the subtree of positions [begin, end): its root is the one divisible by the largest power
/// of two. Returns the root, -1 if there are no positions.
int buildPlainTree(std::vector<PlainNode>& nodes, int begin, int end, int parent, int depth) {
  if (begin >= end) return -1;
  int root = begin;
  for (int at = begin; at < end; ++at) {
    if ((at & -at) > (root & -root)) root = at;
  }
  PlainNode& node = nodes[static_cast<std::size_t>(root)];
  node.parent = parent;
  node.depth = depth;
  node.left = buildPlainTree(nodes, begin, root, root, depth + 1);
  node.right = buildPlainTree(nodes, root + 1, end, root, depth + 1);
  return root;
}

TEST(BinaryTree, MatchesItsDefinition) {
  for (int size = 1; size <= 600; ++size) {
    std::vector<PlainNode> nodes(static_cast<std::size_t>(size));
    nodes[0].right = buildPlainTree(nodes, 1, size, 0, 1);
    int height = 0;
    for (int position = 0; position < size; ++position) {
      const PlainNode& plain = nodes[static_cast<std::size_t>(position)];
      const BinaryTree tree(position, size);
      ASSERT_EQ(tree.left(), plain.left) << position << " of " << size;
      ASSERT_EQ(tree.right(), plain.right) << position << " of " << size;
      ASSERT_EQ(tree.parent(), plain.parent) << position << " of " << size;
      ASSERT_EQ(tree.depth(), plain.depth) << position << " of " << size;
      height = std::max(height, plain.depth);
    }
    ASSERT_EQ(BinaryTree::height(size), height) << size;
    ASSERT_EQ(height, std::bit_width(static_cast<unsigned>(size - 1))) << size;
  }
}

void walkInOrder(int position, int size, std::vector<int>& walk) {
  if (position < 0) return;
  const BinaryTree tree(position, size);
  walkInOrder(tree.left(), size, walk);
  walk.push_back(position);
  walkInOrder(tree.right(), size, walk);
}

TEST(BinaryTree, InOrderWalkIsAscending) {
  for (int size = 1; size <= 600; ++size) {
    std::vector<int> walk;
    walkInOrder(0, size, walk);
    ASSERT_EQ(static_cast<int>(walk.size()), size);
    ASSERT_TRUE(std::is_sorted(walk.begin(), walk.end())) << size;
  }
}

TEST(BinaryTree, ChildrenKnowTheirParent) {
  for (int size = 1; size <= 600; ++size) {
    for (int position = 0; position < size; ++position) {
      const BinaryTree tree(position, size);
      ASSERT_EQ(tree.isRoot(), position == 0);
      for (int index = 0; index < tree.children(); ++index) {
        const BinaryTree child(tree.child(index), size);
        ASSERT_EQ(child.parent(), position);
        ASSERT_EQ(child.depth(), tree.depth() + 1);
      }
    }
  }
}

TEST(TreePlacement, IsAPermutation) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    std::vector<TreePlacement> placements{TreePlacement::mirrored(ranks)};
    for (int root = 0; root < ranks; ++root)
      placements.push_back(TreePlacement::startingAt(root, ranks));
    for (const TreePlacement& placement : placements) {
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(placement.rankAt(placement.positionOf(rank)), rank);
    }
    EXPECT_EQ(TreePlacement::startingAt(ranks / 2, ranks).rankAt(0), ranks / 2);
    EXPECT_EQ(TreePlacement::mirrored(ranks).rankAt(0), ranks - 1);
  }
}

/// The claim of the double tree: inner nodes of one tree are leaves of the other, all
/// but one or two.
TEST(TreeNode, TwinTreesShareTheWork) {
  for (int ranks = 2; ranks <= 128; ++ranks) {
    const TreePlacement twin =
        ranks % 2 == 0 ? TreePlacement::mirrored(ranks) : TreePlacement::startingAt(1, ranks);
    int innerInBoth = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const TreeNode one(rank, TreePlacement::startingAt(0, ranks));
      const TreeNode other(rank, twin);
      innerInBoth += one.children().count > 0 && other.children().count > 0 ? 1 : 0;
    }
    EXPECT_LE(innerInBoth, 2) << ranks;
  }
}

TEST(TreeNode, TablesListChildrenThenParent) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const TreePlacement placement = TreePlacement::startingAt(ranks / 3, ranks);
      const TreeNode node(rank, placement);
      const BinaryTree tree(placement.positionOf(rank), ranks);
      ASSERT_EQ(node.children(), (PeerRange{0, tree.children()}));
      ASSERT_EQ(node.neighbours(), tree.children() + (tree.isRoot() ? 0 : 1));
      for (int index = 0; index < tree.children(); ++index)
        EXPECT_EQ(node.neighbour(index), placement.rankAt(tree.child(index)));
      if (!node.isRoot()) {
        EXPECT_EQ(node.neighbour(node.parent().first), placement.rankAt(tree.parent()));
      }
    }
  }
}

/// F0 .. F(lag-1), then F(i + lag) S(i), then the rest of S: written out.
std::vector<LaggedPhases::Position> plainPhases(std::size_t loops,
                                                std::size_t lag,
                                                std::size_t first,
                                                std::size_t second) {
  std::vector<LaggedPhases::Position> order;
  const auto phase = [&](bool isSecond, std::size_t loop) {
    for (std::size_t turn = 0; turn < (isSecond ? second : first); ++turn)
      order.push_back({isSecond, loop, turn});
  };
  for (std::size_t loop = 0; loop < loops + lag; ++loop) {
    if (loop < loops) phase(false, loop);
    if (loop >= lag) phase(true, loop - lag);
  }
  return order;
}

TEST(LaggedPhases, FollowsItsDefinition) {
  for (std::size_t loops = 0; loops <= 12; ++loops) {
    for (std::size_t lag = 0; lag <= 14; ++lag) {
      for (std::size_t first = 0; first <= 3; ++first) {
        for (std::size_t second = 0; second <= 3; ++second) {
          if (first + second == 0) continue;
          const LaggedPhases phases(loops, lag, first, second);
          const auto plain = plainPhases(loops, lag, first, second);
          ASSERT_EQ(phases.size(), plain.size());
          for (std::size_t index = 0; index < plain.size(); ++index) {
            const LaggedPhases::Position at = phases.at(index);
            ASSERT_EQ(at.second, plain[index].second) << index;
            ASSERT_EQ(at.loop, plain[index].loop) << index;
            ASSERT_EQ(at.turn, plain[index].turn) << index;
          }
        }
      }
    }
  }
}

/// In each phase the exchanged places are the multiples v of 2d with v + d < n, and every place
/// but the owner's is sent from exactly once.
TEST(BinomialBlocks, EveryPlaceSendsOnce) {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    ScheduleArgs args;
    args.ranks = ranks;
    args.share = {0, 1};
    args.chunkElems = static_cast<std::size_t>(std::max(1, ranks / 2));
    const BinomialBlocks blocks(args);
    std::vector<int> sent(static_cast<std::size_t>(ranks));
    for (int phase = 0; phase < blocks.phases(); ++phase) {
      const int distance = BinomialBlocks::distance(phase);
      int rows = 0;
      for (int place = 0; place + distance < ranks; place += 2 * distance) {
        ++rows;
        ++sent[static_cast<std::size_t>(place + distance)];
      }
      ASSERT_EQ(blocks.rows(phase), rows) << ranks << " ranks, phase " << phase;
    }
    EXPECT_EQ(sent[0], 0);
    for (std::size_t place = 1; place < sent.size(); ++place)
      EXPECT_EQ(sent[place], 1) << place;
    EXPECT_EQ(blocks.phases(), std::bit_width(static_cast<unsigned>(ranks - 1)));
  }
}

}  // namespace
}  // namespace rondo
