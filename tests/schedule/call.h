// One collective call as the verifier runs it: which algorithm on which buffers.
#pragma once

#include <cstddef>
#include <string>

#include "collectives/registry.h"
#include "tests/schedule/failure.h"

namespace rondo::verifier {

/// The arguments of one call; the same on all ranks.
struct Call {
  AlgorithmId algorithm{};
  int root = 0;
  int channel = 0;
  /// Elements of a user buffer; for reduce-scatter and all-gather elements of one block.
  std::size_t bufferElems = 0;
  Span share;
  std::size_t chunkElems = 1;
  std::size_t grain = 1;
  bool inPlace = false;

  const AlgorithmInfo& info() const { return algorithmInfo(algorithm); }

  Collective collective() const { return info().collective; }

  ScheduleArgs args(int rank, int ranks) const {
    return {.rank = rank,
            .ranks = ranks,
            .root = root,
            .channel = channel,
            .layout = Layout(bufferElems),
            .share = share,
            .chunkElems = chunkElems,
            .grain = grain};
  }

  /// 0 where the input may be null.
  std::size_t inputElems(int rank, int ranks) const {
    switch (collective()) {
      case Collective::kReduceScatter:
        return bufferElems * static_cast<std::size_t>(ranks);
      case Collective::kBroadcast:
        return rank == root ? bufferElems : 0;
      case Collective::kBarrier:
        return 0;
      default:
        return bufferElems;
    }
  }

  /// 0 where the output may be null.
  std::size_t outputElems(int rank, int ranks) const {
    switch (collective()) {
      case Collective::kAllGather:
        return bufferElems * static_cast<std::size_t>(ranks);
      case Collective::kReduce:
        return rank == root ? bufferElems : 0;
      case Collective::kBarrier:
        return 0;
      default:
        return bufferElems;
    }
  }

  /// In place, element i of the input is element i + aliasShift of the output.
  std::ptrdiff_t aliasShift(int rank) const {
    const auto ownBlock = static_cast<std::ptrdiff_t>(bufferElems) * rank;
    if (collective() == Collective::kAllGather) return ownBlock;
    if (collective() == Collective::kReduceScatter) return -ownBlock;
    return 0;
  }

  std::string text() const {
    return joined(collectiveName(collective()), "/", info().name, " root ", root, " channel ",
                  channel, " buffer ", bufferElems, " share ", share.offset, "+", share.elems,
                  " chunk ", chunkElems, " grain ", grain, inPlace ? " in place" : "");
  }
};

}  // namespace rondo::verifier
