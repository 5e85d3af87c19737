#include "tests/cuda/message_kernel.h"

#include "kernels/cuda/message_executor.h"

namespace rondo::testing {

void messageKernel(const device::MessageArgs& args) {
  device::runMessages(args);
}

}  // namespace rondo::testing
