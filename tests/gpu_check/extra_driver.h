// What the check asks of the CUDA driver besides what the library does (src/cuda/driver.h): copies
// back and on the device, time, graphs. Found at run time in the same way.
#pragma once

#include <cstddef>

#include "src/cuda/driver.h"
#include "src/status.h"

namespace rondo::gpucheck {

using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;

/// Every function: X(member, symbol, parameters). All return a result of the driver.
#define RONDO_EXTRA_CUDA_FUNCTIONS(X)                                                            \
  X(driverVersion, "cuDriverGetVersion", (int* version))                                         \
  X(deviceTotalMemory, "cuDeviceTotalMem_v2", (std::size_t * bytes, int device))                 \
  X(copyToHost, "cuMemcpyDtoHAsync_v2",                                                          \
    (void* to, cuda::DevicePointer from, std::size_t bytes, cuda::Stream stream))                \
  X(copyOnDevice, "cuMemcpyDtoDAsync_v2",                                                        \
    (cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes, cuda::Stream stream))  \
  X(eventElapsed, "cuEventElapsedTime", (float* milliseconds, cuda::Event from, cuda::Event to)) \
  X(beginCapture, "cuStreamBeginCapture_v2", (cuda::Stream stream, int mode))                    \
  X(endCapture, "cuStreamEndCapture", (cuda::Stream stream, Graph * graph))                      \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                                             \
    (GraphExec * exec, Graph graph, unsigned long long flags))                                   \
  X(graphLaunch, "cuGraphLaunch", (GraphExec exec, cuda::Stream stream))                         \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec exec))                                    \
  X(graphDestroy, "cuGraphDestroy", (Graph graph))

/// @threads any
struct ExtraDriver {
#define RONDO_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  RONDO_EXTRA_CUDA_FUNCTIONS(RONDO_MEMBER)
#undef RONDO_MEMBER
};

/// The functions of the driver that the library has loaded.
/// @errors NotSupported: names the one that is missing
Result<ExtraDriver> loadExtraDriver();

}  // namespace rondo::gpucheck
