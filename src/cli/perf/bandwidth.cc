#include "src/cli/perf/bandwidth.h"

#include "collectives/buffers.h"

namespace rondo::perf {

double busFactor(Collective collective, int ranks) {
  const double part = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * part;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
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
  return bytes / elementBytes(type) / mostBlocks(collective, ranks);
}

std::size_t bytesOfCount(Collective collective, DataType type, int ranks, std::size_t count) {
  return count * elementBytes(type) * mostBlocks(collective, ranks);
}

}  // namespace rondo::perf
