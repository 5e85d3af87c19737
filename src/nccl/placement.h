// Where buffers lie. NCCL takes the CUDA device that is current in the calling thread; so does this
// layer where there is one, and memory of the host where there is none. RONDO_DEVICE overrules.
#pragma once

#include <optional>

#include "src/cuda/driver.h"
#include "src/status.h"

namespace rondo::nccl {

/// The device that is current in the calling thread, or 0, CUDA's default, if none is; empty
/// without a driver or a GPU.
std::optional<int> currentDevice();

/// The device of a communicator that the calling thread makes now; empty: memory of the host.
/// @errors InvalidArgument (a value in the environment)
Result<std::optional<int>> chosenDevice();

}  // namespace rondo::nccl
