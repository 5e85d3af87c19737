// One collective as the tests of kernels run it: on host lanes and on device lanes, from the same
// plan and the same inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/launch.h"
#include "src/planner.h"

namespace rondo::testing {

using Bytes = std::vector<std::byte>;

/// One rank's memory. Where `inPlace`, the input lies in the output: at its start, or, where the
/// output holds a block of each rank, at this rank's. Both begin after `margin` bytes, and the
/// output ends before some, that nobody may touch.
struct RankBuffers {
  Bytes input;
  Bytes output;
  std::size_t margin = 0;
  std::size_t inputOffset = 0;  ///< bytes from out(), in place only
  bool inPlace = false;

  const std::byte* in() const {
    return inPlace ? output.data() + margin + inputOffset : input.data() + margin;
  }

  std::byte* out() { return output.data() + margin; }
};

struct Operation {
  PlanRequest request;
  Plan plan;
  int ranks = 1;
  device::Protocol protocol = device::Protocol::kStaged;
  std::vector<RankBuffers> buffers;   ///< by rank
  std::vector<std::uint64_t> scales;  ///< by rank; premulsum only

  /// "all_reduce ring float sum count 100 ranks 4 channels 2 slots".
  std::string describe() const;
};

struct OperationShape {
  AlgorithmId algorithm{};
  int ranks = 1;
  int channels = 1;
  int root = 0;
  std::size_t count = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  device::Protocol protocol = device::Protocol::kStaged;
  std::size_t slotBytes = 1024;
  std::uint32_t slotCount = 2;
  bool inPlace = false;
  std::size_t shiftElems = 0;  ///< elements from a boundary of 16 bytes to the buffers
};

/// Plans it and makes inputs from `seed`; outputs hold other bytes than any result. Aborts the
/// program if the planner refuses the shape.
Operation makeOperation(const OperationShape& shape, std::uint64_t seed);

/// Whether the planner takes the shape.
bool legal(const OperationShape& shape);

/// What the host's lanes leave in the outputs.
std::vector<Bytes> runOnHost(const Operation& operation, std::size_t slotBytes);

}  // namespace rondo::testing
