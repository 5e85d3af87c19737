// The kernels of two types only: what tests of mutants use, compiled for each of them.
#include "src/check.h"
#include "tests/cuda/entry_kernels.h"
#include "tests/cuda/run_lanes.h"

namespace rondo::testing {

EntryKernel entryKernel(DataType type) {
  RONDO_CHECK(type == DataType::kFloat32 || type == DataType::kBfloat16);
  return type == DataType::kFloat32 ? runLanes<DataType::kFloat32> : runLanes<DataType::kBfloat16>;
}

}  // namespace rondo::testing
