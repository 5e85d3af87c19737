// One collective call of one rank, after its arguments were checked (src/argument_checks.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/data_type.h"
#include "src/compression.h"
#include "src/user_reduction.h"

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
  /// What the program calls an element is a pair, a complex number: `type` and all counts are of
  /// its parts.
  bool pairs = false;
  /// Reductions only. kMax for a program's function, which works in the element's own type, too.
  ReduceOp op = ReduceOp::kSum;
  Combiner combiner = Combiner::kBuiltIn;
  int root = 0;  ///< where there is one: hasRoot()
  /// premulsum only: this rank's factor as kernels/host/combine.h wants it.
  alignas(8) std::array<std::byte, 8> factor{};
  /// premulsum only: where the factor is in memory of the device, as an element of `type`; else
  /// null, also once it has been read.
  const void* deviceFactor = nullptr;
  UserReduction user{};  ///< where `combiner` is not built in
  /// Blocks may be of different sizes; `count` is then what all ranks know of them: their sum for
  /// all-gather and reduce-scatter, else 0.
  bool varied = false;
  std::uint64_t countsHash = 0;  ///< varied: of what all ranks must pass alike
  BlockArrays sendBlocks;        ///< varied: of an input that holds blocks
  BlockArrays recvBlocks;        ///< varied: of an output that holds blocks
  std::size_t ownCount = 0;      ///< varied gather and scatter: elements of this rank's block
  /// varied, pairs: what the arrays above are in, in place of the program's.
  std::shared_ptr<const std::vector<std::size_t>> partBlocks;
  std::optional<Compression> compression;  ///< how elements travel; none: as they are

  /// CombineArgs::scale of this call's reduction. Valid as long as this object stays where it is.
  const void* combineScale() const {
    if (combiner != Combiner::kBuiltIn) return &user;
    return op == ReduceOp::kPreMulSum ? factor.data() : nullptr;
  }
};

}  // namespace rondo
