#include "src/cli/perf/bandwidth.h"

namespace rondo::perf {

namespace {

/// Blocks of `count` elements that S consists of.
std::size_t blocksOf(Collective collective, int ranks) {
  const bool perRank =
      collective == Collective::kReduceScatter || collective == Collective::kAllGather;
  return perRank ? static_cast<std::size_t>(ranks) : 1;
}

}  // namespace

double busFactor(Collective collective, int ranks) {
  const double part = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * part;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
      return part;
    default:
      return 1;
  }
}

Bandwidth bandwidthOf(Collective collective, int ranks, std::size_t bytes, double seconds) {
  if (seconds <= 0) return {};
  const double algorithmGBs = static_cast<double>(bytes) / seconds / 1e9;
  return {algorithmGBs, algorithmGBs * busFactor(collective, ranks)};
}

std::size_t countForBytes(Collective collective, DataType type, int ranks, std::size_t bytes) {
  if (collective == Collective::kBarrier) return 0;
  return bytes / elementBytes(type) / blocksOf(collective, ranks);
}

std::size_t bytesOfCount(Collective collective, DataType type, int ranks, std::size_t count) {
  return count * elementBytes(type) * blocksOf(collective, ranks);
}

}  // namespace rondo::perf
