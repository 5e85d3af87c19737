// Which buffers a rank has in each operation, in blocks of the call's count: what argument checks,
// tools and tests derive sizes and places from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/schedule.h"

namespace rondo {

/// What a buffer holds, and on which ranks it is looked at.
enum class Extent : std::uint8_t {
  kNone,          ///< nowhere looked at
  kBlock,         ///< `count` elements
  kBlockAtRoot,   ///< the same, at the root only
  kBlocks,        ///< `count` elements per rank, in rank order
  kBlocksAtRoot,  ///< the same, at the root only
};

struct BufferExtents {
  Extent input = Extent::kNone;
  Extent output = Extent::kNone;
};

constexpr BufferExtents buffersOf(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return {Extent::kBlock, Extent::kBlock};
    case Collective::kReduceScatter:
      return {Extent::kBlocks, Extent::kBlock};
    case Collective::kAllGather:
      return {Extent::kBlock, Extent::kBlocks};
    case Collective::kBroadcast:
      return {Extent::kBlockAtRoot, Extent::kBlock};
    case Collective::kReduce:
      return {Extent::kBlock, Extent::kBlockAtRoot};
    case Collective::kBarrier:
      break;
    case Collective::kAllToAll:
      return {Extent::kBlocks, Extent::kBlocks};
    case Collective::kGather:
      return {Extent::kBlock, Extent::kBlocksAtRoot};
    case Collective::kScatter:
      return {Extent::kBlocksAtRoot, Extent::kBlock};
  }
  return {};
}

/// One rank among others.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int root = 0;  ///< where the operation has none: any
};

/// Blocks in a buffer of that rank; 0 where it is not looked at.
constexpr std::size_t blocksIn(Extent extent, const RankPlace& place) {
  const bool atRoot = place.rank == place.root;
  switch (extent) {
    case Extent::kNone:
      break;
    case Extent::kBlock:
      return 1;
    case Extent::kBlockAtRoot:
      return atRoot ? 1 : 0;
    case Extent::kBlocks:
      return static_cast<std::size_t>(place.ranks);
    case Extent::kBlocksAtRoot:
      return atRoot ? static_cast<std::size_t>(place.ranks) : 0;
  }
  return 0;
}

constexpr std::size_t inputBlocks(Collective collective, const RankPlace& place) {
  return blocksIn(buffersOf(collective).input, place);
}

constexpr std::size_t outputBlocks(Collective collective, const RankPlace& place) {
  return blocksIn(buffersOf(collective).output, place);
}

constexpr bool holdsBlocks(Extent extent) {
  return extent == Extent::kBlocks || extent == Extent::kBlocksAtRoot;
}

/// Blocks that a rank at most has in a buffer.
constexpr std::size_t mostBlocks(Collective collective, int ranks) {
  const BufferExtents buffers = buffersOf(collective);
  return holdsBlocks(buffers.input) || holdsBlocks(buffers.output) ? static_cast<std::size_t>(ranks)
                                                                   : 1;
}

/// In place, where the input of `rank` begins, in blocks from where its output begins: its own
/// block of the larger buffer is the smaller one.
constexpr std::ptrdiff_t inPlaceBlocks(Collective collective, int rank) {
  const BufferExtents buffers = buffersOf(collective);
  if (holdsBlocks(buffers.input) == holdsBlocks(buffers.output)) return 0;
  return holdsBlocks(buffers.output) ? rank : -rank;
}

}  // namespace rondo
