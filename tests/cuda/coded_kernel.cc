#include "tests/cuda/coded_kernel.h"

#include "kernels/cuda/coded_executor.h"

namespace rondo::testing {

void codedKernel(const device::LaunchArgs& args) {
  device::runCoded(args);
}

}  // namespace rondo::testing
