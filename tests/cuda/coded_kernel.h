// The kernel of compressed collectives that the emulator runs: what kernels/cuda/entry_coded.cu is
// to a GPU.
#pragma once

#include "kernels/cuda/coded_launch.h"

namespace rondo::testing {

/// The body of the kernel.
void codedKernel(const device::LaunchArgs& args);

}  // namespace rondo::testing
