// The kernel of compressed collectives, which kCodedEntry of kernels/cuda/device_library.h names.
#include "kernels/cuda/coded_executor.h"

extern "C" __global__ void __launch_bounds__(rondo::device::kBlockThreads, 1)
    rondoRun_coded(const __grid_constant__ rondo::device::LaunchArgs args) {
  rondo::device::runCoded(args);
}
