// The reductions that a program made for one communicator: premulsum's factors, behind handles.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/data_type.h"
#include "src/handle_table.h"
#include "src/status.h"

namespace rondo {

/// The sum of all ranks' inputs, each times its rank's factor.
struct PreMulSum {
  DataType type = DataType::kFloat32;
  /// The factor as kernels/host/combine.h wants it: in the accumulator's type of (type, premulsum).
  alignas(8) std::array<std::byte, 8> scale{};
};

/// Values of rondoRedOp_t from rondoRedOpFirstDynamic on, and what they stand for.
/// @threads  any; a reduction may be destroyed only while no operation uses it.
class ReductionTable {
 public:
  ReductionTable();

  /// @param scalar one element of `type`, aligned or not; read before the call returns.
  /// @return the handle.
  /// @errors InvalidArgument (bool), OutOfMemory (256 alive).
  Result<int> createPreMulSum(DataType type, const void* scalar);

  /// @return valid until destroy().
  /// @errors InvalidArgument (never made here), InvalidUsage (destroyed).
  Result<const PreMulSum*> find(int handle) const;

  /// @errors as find().
  Status destroy(int handle);

 private:
  using Table = HandleTable<PreMulSum, 8, 22>;

  Table table_;
};

}  // namespace rondo
