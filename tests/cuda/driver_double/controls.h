// A double of the CUDA driver: a shared library named libcuda.so.1 that the library loads in place
// of NVIDIA's. Its GPUs are the emulator of tests/cuda/emulator/, their memory is memory of the
// host that all its processes can map, and a stream is a thread. It refuses what the driver
// refuses, or may refuse: see fake_memory.h. What tests ask of it beyond the driver's functions is
// here.
//
// A process may load it, use the functions below and fork(); after cuInit the driver works in that
// process only.
//
// In the environment of the process, read at the first call:
//   RONDOTEST_GPUS=n            it sees n GPUs; 8 if not set
//   RONDOTEST_FIRST_GPU=n       its device 0 is GPU n of the host; 0 if not set
//   RONDOTEST_NO_PEER_ACCESS=1  as rondoDoublePeerAccess(0)
//   RONDOTEST_FAIL_CALL=symbol:nth:error  as rondoDoubleFailCall("symbol", nth, error)
//   RONDOTEST_ALL_MEMORY=1      every address counts as memory of the device that is asked
//   RONDOTEST_SPOIL_COPY=n      the nth copy to the host has a wrong bit
//   RONDOTEST_STUCK_COPY=n      the nth copy to the host never ends, nor does its stream
//   RONDOTEST_CRASH_COPY=n      the nth copy to the host ends the process
//   CUDA_LAUNCH_BLOCKING=1      as with NVIDIA's: a launch returns when it is complete
#pragma once

#include "src/cuda/driver.h"

extern "C" {

/// Has the `nth` call from now of the function named `symbol` fail with `error`, having done
/// nothing; 1 is the next. One failure at a time; a null symbol takes it back.
void rondoDoubleFailCall(const char* symbol, int nth, int error);

/// Calls of `symbol` so far.
int rondoDoubleCalls(const char* symbol);

/// Allocations of device and pinned memory, registrations, memory of other processes that is open,
/// streams and events that are alive.
int rondoDoubleObjects(void);

/// Whether pairs of devices have a way to each other; they do at first. Without one a device cannot
/// open memory of another, either.
void rondoDoublePeerAccess(int possible);

/// What is queued on `stream` from now on is kept for replay instead of running.
void rondoDoubleBeginCapture(rondo::cuda::Stream stream);

/// Ends that.
void rondoDoubleEndCapture(rondo::cuda::Stream stream);

/// Queues on `stream` what was captured there.
void rondoDoubleReplay(rondo::cuda::Stream stream);
}
