// The entry kernel of one element type: all algorithms, reductions and protocols of it. Included by
// the files entry_*.cu, of which each is one image (device_images.h).
#pragma once

#include <string_view>

#include "kernels/cuda/device_images.h"
#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"

/// Defines the kernel that entryName() of kernels/cuda/device_library.h names.
#define RONDO_ENTRY(type, text)                                                            \
  static_assert(rondo::dataTypeName(rondo::DataType::k##type) == std::string_view(#text)); \
  extern "C" __global__ void __launch_bounds__(rondo::device::kBlockThreads, 1)            \
      rondoRun_##text(const __grid_constant__ rondo::device::LaunchArgs args) {            \
    rondo::device::runBlock<rondo::device::TypeCombiner<rondo::DataType::k##type>>(args);  \
  }
