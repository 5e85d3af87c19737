// rondoMemAlloc and rondoMemFree: memory for a program's buffers, in which ranks can read where it
// lies.
#pragma once

#include <cstddef>
#include <optional>

#include "src/status.h"

namespace rondo {

/// Memory of a CUDA device or, without one, of the host: then zeros, in a file of their own that
/// other processes can map, in huge pages where the kernel gives them. The caller frees it with
/// freeMemory().
/// @param device as the driver counts
/// @threads any
/// @errors OutOfMemory; with a device also InvalidArgument (there is none of that number),
///   NotSupported (no driver, no GPU), SystemError.
Result<void*> allocateMemory(std::size_t bytes, std::optional<int> device);

/// @param memory from allocateMemory(), or null, which does nothing
/// @threads any
/// @errors those of AllocationTable::free()
Status freeMemory(void* memory);

}  // namespace rondo
