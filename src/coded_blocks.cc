#include "src/coded_blocks.h"

#include <algorithm>

#include "collectives/buffers.h"

namespace rondo {

CodedBlocks::CodedBlocks(const CollectiveCall& call, int ranks)
    : perRank_(call.collective != Collective::kAllReduce),
      tensors_(call.compression->tensors.begin(), call.compression->tensors.end()),
      map_(call.compression->blockElems) {
  const std::size_t parts = mostBlocks(call.collective, ranks);
  for (std::size_t part = 0; part < parts; ++part) {
    offsets_.push_back(map_.blocks());
    addPart(part * call.count, (part + 1) * call.count);
    counts_.push_back(map_.blocks() - offsets_.back());
  }
}

/// The tensors, or their pieces, among the elements [first, end).
void CodedBlocks::addPart(std::size_t first, std::size_t end) {
  if (tensors_.empty()) {
    map_.add(end - first);
    return;
  }
  std::size_t tensorFirst = 0;
  for (const std::size_t elems : tensors_) {
    const std::size_t from = std::max(first, tensorFirst);
    const std::size_t to = std::min(end, tensorFirst + elems);
    if (from < to) map_.add(to - from);
    tensorFirst += elems;
  }
}

Layout CodedBlocks::layout() const {
  return uniform() ? Layout(scheduleCount()) : Layout(counts_.data(), offsets_.data());
}

bool CodedBlocks::fits(const CollectiveCall& call) const {
  return std::ranges::equal(tensors_, call.compression->tensors);
}

}  // namespace rondo
