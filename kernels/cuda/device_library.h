// The compiled kernels, as the CUDA driver loads them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/data_type.h"

namespace rondo::device {

/// A fat binary with the machine code of all architectures that the library was built for, and PTX
/// for later ones; empty in a library that was built without a CUDA compiler.
std::span<const std::byte> deviceLibrary();

/// The name of the kernel there that runs lanes of `type`: "rondoRun_float". It takes one
/// LaunchArgs (kernels/cuda/launch.h).
std::string entryName(DataType type);

}  // namespace rondo::device
