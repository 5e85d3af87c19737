// What `rondo perf` measures by name: collectives, their forms for blocks of different sizes, and
// messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collectives/schedule.h"
#include "src/status.h"

namespace rondo::perf {

enum class Form : std::uint8_t {
  kCollective,
  kBlocks,   ///< the collective's form for blocks of different sizes: rondoAllGatherV and its like
  kMessages  ///< each rank sends to the next one and receives from the one before, in a group
};

struct Operation {
  /// Of messages kBroadcast, since a rank gets what a broadcast from the rank before would give it.
  Collective collective = Collective::kAllReduce;
  Form form = Form::kCollective;
};

constexpr bool hasBlocksForm(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
         collective == Collective::kAllToAll || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

/// "all_gather", "all_gather_v", "send_recv".
std::string operationName(Operation operation);

/// All names, for people.
std::string namesOfOperations();

/// @param name as operationName() gives it, or with nccl-tests' "_perf" behind it
/// @errors InvalidArgument
Result<Operation> findOperation(const std::string& name);

/// Whether the call names a root.
constexpr bool hasRoot(Operation operation) {
  return operation.form != Form::kMessages && rondo::hasRoot(operation.collective);
}

/// Whether buffers may lie in each other.
constexpr bool goesInPlace(Operation operation) {
  const bool exchanges =
      operation.form == Form::kBlocks && operation.collective == Collective::kAllToAll;
  return !exchanges && operation.form != Form::kMessages &&
         operation.collective != Collective::kBarrier;
}

/// Elements of the block that belongs to each rank, as its sender or, where each rank gets another
/// one, as its receiver. Where they are uneven, ranks have half, all or one and a half times as
/// many as others, in turn.
struct BlockSizes {
  std::size_t count = 0;
  bool uneven = false;

  constexpr std::size_t of(int rank) const {
    return uneven ? count * static_cast<std::size_t>(1 + rank % 3) / 2 : count;
  }

  /// Elements of the blocks of all ranks before `rank`.
  constexpr std::size_t before(int rank) const {
    std::size_t elems = 0;
    for (int earlier = 0; earlier < rank; ++earlier)
      elems += of(earlier);
    return elems;
  }
};

}  // namespace rondo::perf
