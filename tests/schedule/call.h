// One collective call as the verifier runs it: which algorithm on which buffers.
#pragma once

#include <cstddef>
#include <string>

#include "collectives/buffers.h"
#include "collectives/registry.h"
#include "tests/schedule/failure.h"

namespace rondo::verifier {

/// The arguments of one call; the same on all ranks.
struct Call {
  AlgorithmId algorithm{};
  int root = 0;
  int channel = 0;
  /// Elements of a user buffer; of one block, where a buffer holds one per rank.
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
            .outputLayout = Layout(bufferElems),
            .share = share,
            .chunkElems = chunkElems,
            .grain = grain};
  }

  /// 0 where the input may be null.
  std::size_t inputElems(int rank, int ranks) const {
    return bufferElems * inputBlocks(collective(), {rank, ranks, root});
  }

  /// 0 where the output may be null.
  std::size_t outputElems(int rank, int ranks) const {
    return bufferElems * outputBlocks(collective(), {rank, ranks, root});
  }

  /// In place, element i of the input is element i + aliasShift of the output.
  std::ptrdiff_t aliasShift(int rank) const {
    return static_cast<std::ptrdiff_t>(bufferElems) * inPlaceBlocks(collective(), rank);
  }

  std::string text() const {
    return joined(collectiveName(collective()), "/", info().name, " root ", root, " channel ",
                  channel, " buffer ", bufferElems, " share ", share.offset, "+", share.elems,
                  " chunk ", chunkElems, " grain ", grain, inPlace ? " in place" : "");
  }
};

}  // namespace rondo::verifier
