// NCCL's numbers and Rondo's: types, reductions and results that mean the same, in both directions.
#pragma once

#include "rondo/nccl/nccl.h"
#include "rondo/rondo.h"

namespace rondo::nccl {

/// Rondo's type of the same elements; what is no type of NCCL's becomes one that Rondo refuses.
rondoDataType_t toRondo(ncclDataType_t type);

/// Rondo's reduction of the same meaning. Those made at run time have the same number in both.
rondoRedOp_t toRondo(ncclRedOp_t op);

/// Where a factor lies; what is neither place becomes one that Rondo refuses.
rondoScalarResidence_t toRondo(ncclScalarResidence_t residence);

/// The result whose meaning to a program is nearest. docs/porting-from-nccl.md has the table.
ncclResult_t toNccl(rondoResult_t result);

}  // namespace rondo::nccl
