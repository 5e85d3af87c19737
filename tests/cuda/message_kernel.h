// The kernel of messages that the emulator runs: what kernels/cuda/entry_messages.cu is to a GPU.
// Apart from entry_kernels.h, whose kernels take long to compile. Defined by message_kernel.cc,
// which mutants are made of, too.
#pragma once

#include "kernels/cuda/message_launch.h"

namespace rondo::testing {

/// The body of the kernel.
void messageKernel(const device::MessageArgs& args);

}  // namespace rondo::testing
