#include "src/block_overlap.h"

#include <algorithm>
#include <vector>

namespace rondo {

namespace {

/// Bytes of one block: [begin, end).
struct BlockPlace {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  int rank = 0;
};

void appendPlaces(const BlocksInMemory& buffer, std::vector<BlockPlace>& places) {
  const auto append = [&](std::size_t offset, std::size_t count, int rank) {
    if (count == 0) return;
    const std::uintptr_t begin = buffer.base + offset * buffer.elemBytes;
    places.push_back({begin, begin + count * buffer.elemBytes, rank});
  };
  if (buffer.blocks.counts == nullptr) return append(0, buffer.count, 0);
  for (int rank = 0; rank < buffer.ranks; ++rank)
    append(buffer.blocks.offsets[rank], buffer.blocks.counts[rank], rank);
}

/// By where they begin.
std::vector<BlockPlace> sortedPlaces(const BlocksInMemory& buffer) {
  std::vector<BlockPlace> places;
  places.reserve(static_cast<std::size_t>(buffer.ranks));
  appendPlaces(buffer, places);
  if (!std::ranges::is_sorted(places, {}, &BlockPlace::begin))
    std::ranges::sort(places, {}, &BlockPlace::begin);
  return places;
}

}  // namespace

std::optional<OverlappingBlocks> findOverlap(const BlocksInMemory& one,
                                             const BlocksInMemory& other) {
  const std::vector<BlockPlace> ours = sortedPlaces(one);
  const std::vector<BlockPlace> theirs = sortedPlaces(other);
  // Blocks of an input may overlap each other: the one that reaches farthest counts.
  std::size_t next = 0;
  const BlockPlace* farthest = nullptr;
  for (const BlockPlace& place : theirs) {
    for (; next < ours.size() && ours[next].begin < place.end; ++next) {
      if (farthest == nullptr || ours[next].end > farthest->end) farthest = &ours[next];
    }
    if (farthest != nullptr && farthest->end > place.begin)
      return OverlappingBlocks{farthest->rank, place.rank};
  }
  return std::nullopt;
}

std::optional<OverlappingBlocks> findOverlapWithin(const BlocksInMemory& buffer) {
  const std::vector<BlockPlace> places = sortedPlaces(buffer);
  for (std::size_t next = 1; next < places.size(); ++next) {
    // Sorted and disjoint so far, so that the one before reaches farthest.
    if (places[next].begin < places[next - 1].end)
      return OverlappingBlocks{places[next - 1].rank, places[next].rank};
  }
  return std::nullopt;
}

}  // namespace rondo
