// ncclMemAlloc and ncclMemFree: memory where communicators have their buffers.
#pragma once

#include <cstddef>

#include "src/status.h"

namespace rondo::nccl {

/// Memory of the device that a communicator would be on, or of the host, at least aligned for
/// windows. The caller frees it with freeMemory().
/// @errors OutOfMemory, SystemError, InvalidArgument (a value in the environment)
Result<void*> allocateMemory(std::size_t bytes);

/// @param memory from allocateMemory(), or NULL
/// @errors SystemError
Status freeMemory(void* memory);

}  // namespace rondo::nccl
