#include "tests/cuda/emulated_kernels.h"

#include "kernels/cuda/device_library.h"
#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"

namespace rondo::testing {

namespace {

template <DataType kType>
void runLanes(const device::LaunchArgs& args) {
  device::runBlock<device::TypeCombiner<kType>>(args);
}

}  // namespace

EmulatedKernel emulatedKernel(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return runLanes<DataType::k##name>;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return nullptr;
}

EmulatedKernel emulatedKernel(std::string_view entry) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    if (device::entryName(static_cast<DataType>(type)) == entry)
      return emulatedKernel(static_cast<DataType>(type));
  }
  return nullptr;
}

}  // namespace rondo::testing
