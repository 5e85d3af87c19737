#include "tests/cuda/entry_kernels.h"

#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"

namespace rondo::testing {

namespace {

template <DataType kType>
void runLanes(const device::LaunchArgs& args) {
  device::runBlock<device::TypeCombiner<kType>>(args);
}

}  // namespace

EntryKernel entryKernel(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return runLanes<DataType::k##name>;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return nullptr;
}

std::size_t entryKernelSharedBytes() {
  return sizeof(device::BlockState);
}

}  // namespace rondo::testing
