// One collective call of one rank, after its arguments were checked (src/argument_checks.h).
#pragma once

#include <cstddef>

#include "collectives/schedule.h"
#include "kernels/data_type.h"

namespace rondo {

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
};

}  // namespace rondo
