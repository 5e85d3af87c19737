// The blocks of one compressed operation: which elements they are, and how many of them its
// schedule shares out, to which blocks are what elements are to others.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/host/block_map.h"
#include "src/collective_call.h"

namespace rondo {

class CodedBlocks {
 public:
  /// @param call has a compression
  CodedBlocks(const CollectiveCall& call, int ranks);

  CodedBlocks(const CodedBlocks&) = delete;  // layout() points into it
  CodedBlocks& operator=(const CodedBlocks&) = delete;
  CodedBlocks(CodedBlocks&&) = delete;
  CodedBlocks& operator=(CodedBlocks&&) = delete;
  ~CodedBlocks() = default;

  /// Of the buffer with the most elements.
  const host::BlockMap& map() const { return map_; }

  /// Of all ranks' parts, if a buffer holds one per rank; valid as long as this object.
  Layout layout() const;

  /// By rank, where a buffer holds a part per rank: its blocks, and those before it.
  const std::vector<std::size_t>& counts() const { return counts_; }

  const std::vector<std::size_t>& offsets() const { return offsets_; }

  /// Whether the parts of all ranks have equally many blocks, so that channels can share them out.
  bool uniform() const { return tensors_.empty() || !perRank_; }

  /// What the schedule's `count` is: blocks of the whole, or of each rank's part.
  std::size_t scheduleCount() const { return perRank_ ? counts_.front() : map_.blocks(); }

  /// Whether those of `call` are the same, if the requests of both calls are.
  bool fits(const CollectiveCall& call) const;

 private:
  void addPart(std::size_t first, std::size_t end);

  bool perRank_;                      // a buffer holds a part per rank
  std::vector<std::size_t> tensors_;  // as passed
  host::BlockMap map_;
  std::vector<std::size_t> counts_;   // blocks of each rank's part
  std::vector<std::size_t> offsets_;  // before it
};

}  // namespace rondo
