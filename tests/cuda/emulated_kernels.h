// The entry kernels of the library as functions for the emulator.
#pragma once

#include <string_view>

#include "kernels/cuda/launch.h"
#include "kernels/data_type.h"

namespace rondo::testing {

/// What one thread of the kernel does.
using EmulatedKernel = void (*)(const device::LaunchArgs& args);

/// The kernel that runs lanes of `type`.
EmulatedKernel emulatedKernel(DataType type);

/// The kernel of that name (device::entryName()); null if there is none.
EmulatedKernel emulatedKernel(std::string_view entry);

}  // namespace rondo::testing
