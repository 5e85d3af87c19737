// A double of the CUDA driver: a shared library named libcuda.so.1 that the library loads in place
// of NVIDIA's. Its GPUs are the emulator of tests/cuda/emulator/, their memory is the process's,
// and a stream is a thread. What tests ask of it beyond the driver's functions is here.
//
// In the environment of the process:
//   RONDOTEST_GPUS=n            n GPUs; 8 if not set
//   RONDOTEST_ALL_MEMORY=1      every address counts as memory of the device that is asked
//   CUDA_LAUNCH_BLOCKING=1      as with NVIDIA's: a launch returns when it is complete
#pragma once

#include "src/cuda/driver.h"

extern "C" {

/// Has the `nth` call from now of the function named `symbol` fail with `error`, having done
/// nothing; 1 is the next. One failure at a time; a null symbol takes it back.
void rondoDoubleFailCall(const char* symbol, int nth, int error);

/// Calls of `symbol` so far.
int rondoDoubleCalls(const char* symbol);

/// Allocations of device and pinned memory, streams and events that are alive.
int rondoDoubleObjects(void);

/// Whether pairs of devices have a way to each other; they do at first.
void rondoDoublePeerAccess(int possible);

/// What is queued on `stream` from now on is kept for replay instead of running.
void rondoDoubleBeginCapture(rondo::cuda::Stream stream);

/// Ends that.
void rondoDoubleEndCapture(rondo::cuda::Stream stream);

/// Queues on `stream` what was captured there.
void rondoDoubleReplay(rondo::cuda::Stream stream);
}
