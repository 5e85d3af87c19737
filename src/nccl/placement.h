// Where buffers lie. NCCL takes the CUDA device that is current in the calling thread; so does this
// layer where there is one, and memory of the host where there is none. RONDO_DEVICE overrules.
#pragma once

#include <functional>
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

/// Runs `body` with a context of `device` current: the thread's own if it is of that device, else
/// the device's primary one, which then stays open, as what is made in it lives on.
/// @errors SystemError, those of `body`
Status withContextOf(const cuda::Driver& driver, int device, const std::function<Status()>& body);

}  // namespace rondo::nccl
