// The kernels of two types only: what tests of mutants use, compiled for each of them.
#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"
#include "src/check.h"
#include "tests/cuda/entry_kernels.h"

namespace rondo::testing {

namespace {

template <DataType kType>
void runLanes(const device::LaunchArgs& args) {
  device::runBlock<device::TypeCombiner<kType>>(args);
}

}  // namespace

EntryKernel entryKernel(DataType type) {
  RONDO_CHECK(type == DataType::kFloat32 || type == DataType::kBfloat16);
  return type == DataType::kFloat32 ? runLanes<DataType::kFloat32> : runLanes<DataType::kBfloat16>;
}

std::size_t entryKernelSharedBytes() {
  return sizeof(device::BlockState);
}

}  // namespace rondo::testing
