// What the host hands to the kernel of compressed collectives besides kernels/cuda/launch.h: plain
// data. A compressed operation is launched with LaunchArgs, as all others; the schedule of each of
// its lanes counts blocks, and has no scratch of its own, so that Lane::scratch leads to a
// CodedLane.
//
//     LaunchArgs --- ranks[r] (RankWork) --- lanes[c] (Lane) --- scratch (CodedLane)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/schedule.h"
#include "kernels/block_view.h"
#include "kernels/codec.h"
#include "kernels/cuda/launch.h"
#include "kernels/data_type.h"

namespace rondo::device {

/// One lane of a compressed operation.
struct CodedLane {
  Codec codec = Codec::kInt8;
  DataType type = DataType::kFloat32;  ///< of elements; a float
  Collective collective = Collective::kAllReduce;
  BlockView map;  ///< of the buffer with the most elements
  /// Elements of the buffer with the most before the input's first one, and before the output's.
  std::size_t inputOrigin = 0;
  std::size_t outputOrigin = 0;
  float* sums = nullptr;  ///< room for the elements of a step's blocks
  /// What error feedback adds, as host::Residuals: for each element of the input, and for each that
  /// this lane adds up, in the order of its steps. Null: there is none.
  float* contributionResiduals = nullptr;
  float* resultResiduals = nullptr;
  /// Receives 1 if some result of this lane is infinite or NaN, on whichever rank, else 0. In
  /// memory that the host sees; valid when the launch is complete.
  std::uint64_t* nonFinite = nullptr;
};

static_assert(std::is_trivially_copyable_v<CodedLane>);

}  // namespace rondo::device
