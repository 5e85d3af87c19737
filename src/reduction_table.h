// The reductions that a program made for one communicator, behind handles.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/data_type.h"
#include "src/handle_table.h"
#include "src/status.h"
#include "src/user_reduction.h"

namespace rondo {

/// A factor of premulsum as kernels/host/combine.h wants it: in the accumulator's type of (type,
/// premulsum).
using PreMulFactor = std::array<std::byte, 8>;

/// @param scalar one element of `type`, aligned or not
/// Precondition: isReducible(type, ReduceOp::kPreMulSum).
PreMulFactor makeFactor(DataType type, const void* scalar);

/// The sum of all ranks' inputs, each times its rank's factor, or a program's function.
struct MadeReduction {
  Combiner combiner = Combiner::kBuiltIn;  ///< built in: premulsum
  DataType type = DataType::kFloat32;      ///< premulsum only: the one it is for
  alignas(8) PreMulFactor factor{};        ///< premulsum only, unless there is a `scalar`
  const void* scalar = nullptr;            ///< where the factor is, to be read for each operation
  rondoReduceFunction_t function = nullptr;
  void* context = nullptr;
};

/// Values of rondoRedOp_t from rondoRedOpFirstDynamic on, and what they stand for.
/// @threads  any.
class ReductionTable {
 public:
  ReductionTable();

  /// @param scalar one element of `type`, aligned or not
  /// @param stays  read it for each operation, not now
  /// @return the handle.
  /// @errors InvalidArgument (bool), OutOfMemory (256 alive).
  Result<int> createPreMulSum(DataType type, const void* scalar, bool stays = false);

  /// @return the handle.
  /// @errors OutOfMemory (256 alive).
  Result<int> createUser(rondoReduceFunction_t function, bool commutative, void* context);

  /// @return valid until destroy().
  /// @errors InvalidArgument (never made here), InvalidUsage (destroyed).
  Result<const MadeReduction*> find(int handle) const;

  /// @errors as find().
  Status destroy(int handle);

 private:
  using Table = HandleTable<MadeReduction, 8, 22>;

  Result<int> keep(const MadeReduction& made);

  Table table_;
};

}  // namespace rondo
