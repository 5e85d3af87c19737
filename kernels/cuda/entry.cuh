// The entry kernel of one element type: all algorithms, reductions and protocols of it.
#pragma once

#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"

namespace rondo::device {

template <DataType kType>
__global__ void __launch_bounds__(kBlockThreads, 1)
    runLanes(const __grid_constant__ LaunchArgs args) {
  runBlock<TypeCombiner<kType>>(args);
}

}  // namespace rondo::device
