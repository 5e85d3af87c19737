// The body of an entry kernel, for those who define entryKernel().
#pragma once

#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"

namespace rondo::testing {

template <DataType kType>
void runLanes(const device::LaunchArgs& args) {
  device::runBlock<device::TypeCombiner<kType>>(args);
}

}  // namespace rondo::testing
