// The kernel of messages from rank to rank, which kMessageEntry of kernels/cuda/device_library.h
// names.
#include "kernels/cuda/message_executor.h"

extern "C" __global__ void __launch_bounds__(rondo::device::kBlockThreads, 1)
    rondoRun_messages(const __grid_constant__ rondo::device::MessageArgs args) {
  rondo::device::runMessages(args);
}
