// The kernels that the emulator runs: what kernels/cuda/entry.cuh is to a GPU. Defined by
// entry_kernels.cc, and for mutants, with fewer types, by mutant_kernels.cc.
#pragma once

#include <cstddef>

#include "kernels/cuda/launch.h"

namespace rondo::testing {

using EntryKernel = void (*)(const device::LaunchArgs& args);

/// The body of the entry kernel of `type`.
EntryKernel entryKernel(DataType type);

}  // namespace rondo::testing
