// What a library is asked to do in one cell of the race: an operation on so many elements of a
// type. The same for all libraries; how each is called is in ../libraries/.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kernels/data_type.h"

namespace rondo::race {

/// The operations that are raced. kSendRecv: each rank sends to the next and receives from the one
/// before. Reductions are sums.
enum class Operation {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv
};

/// The name in options and results, e.g. "all_reduce".
std::string_view operationName(Operation operation);

/// @return nothing if there is no operation of that name.
std::optional<Operation> operationNamed(std::string_view name);

/// True if the result can take the place of the input. Not so where every byte moves to another
/// rank: libraries differ in whether they allow it.
bool hasInPlace(Operation operation);

/// True if a buffer of the operation holds a block for each rank.
bool hasBlocks(Operation operation);

/// One call, as a rank sees it.
struct Work {
  Operation operation = Operation::kAllReduce;
  DataType type = DataType::kFloat32;
  bool inPlace = false;
  int rank = 0;
  int ranks = 1;
  std::size_t count = 0;       ///< elements of the larger of the two buffers
  std::size_t blockCount = 0;  ///< elements of one rank's block; `count` where there are none
  /// What the rank gives: `blockCount` elements for all_gather, else `count`.
  std::byte* send = nullptr;
  /// Where the result goes: `blockCount` elements for reduce_scatter, else `count`.
  std::byte* recv = nullptr;

  static constexpr int kRoot = 0;

  bool isRoot() const { return rank == kRoot; }

  int next() const { return (rank + 1) % ranks; }

  int previous() const { return (rank + ranks - 1) % ranks; }

  std::size_t bytes() const { return count * elementBytes(type); }

  std::size_t blockBytes() const { return blockCount * elementBytes(type); }

  std::size_t sendCount() const { return operation == Operation::kAllGather ? blockCount : count; }

  std::size_t recvCount() const {
    return operation == Operation::kReduceScatter ? blockCount : count;
  }
};

/// The call on buffers of about `size` bytes, rounded down to whole elements and blocks, but at
/// least one. In place, both buffers are in `first`; else the result goes to `second`.
/// @param work all but counts and buffers
Work layOut(Work work, std::size_t size, std::byte* first, std::byte* second);

/// Bytes that a buffer needs for any call of at most `size` bytes.
std::size_t bufferBytes(std::size_t size, int ranks);

}  // namespace rondo::race
