// One collective call of one rank, after its arguments were checked (src/argument_checks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/schedule.h"
#include "kernels/data_type.h"
#include "src/compression.h"

namespace rondo {

/// Blocks of different sizes in one buffer: by rank, in elements. Not owned; null where the rank
/// has no such buffer.
struct BlockArrays {
  const std::size_t* counts = nullptr;
  const std::size_t* offsets = nullptr;
};

/// `count` means what the C API says for the collective: elements of the whole vector for
/// all-reduce, broadcast and reduce; of one rank's block where a buffer holds one per rank; 0 for
/// the barrier.
struct CollectiveCall {
  Collective collective = Collective::kBarrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  DataType type = DataType::kUint8;  ///< kUint8 where the operation only moves bytes is legal too
  ReduceOp op = ReduceOp::kSum;      ///< reductions only
  int root = 0;                      ///< where there is one: hasRoot()
  /// premulsum only: this rank's factor as kernels/host/combine.h wants it. Not owned.
  const void* scale = nullptr;
  /// Blocks may be of different sizes; `count` is then what all ranks know of them: their sum for
  /// all-gather and reduce-scatter, else 0.
  bool varied = false;
  std::uint64_t countsHash = 0;  ///< varied: of what all ranks must pass alike
  BlockArrays sendBlocks;        ///< varied: of an input that holds blocks
  BlockArrays recvBlocks;        ///< varied: of an output that holds blocks
  std::size_t ownCount = 0;      ///< varied gather and scatter: elements of this rank's block
  std::optional<Compression> compression;  ///< how elements travel; none: as they are
};

}  // namespace rondo
