// The one place that knows which compiler is reading: attributes for code that is compiled for the
// host and for the device. Everything else in collectives/ and kernels/ is free of #ifdef.
#pragma once

#if defined(__CUDACC__)
/// Marks a function that both a host thread and a device thread may call.
#define RONDO_HD __host__ __device__
/// Marks a function that only a device thread calls, and that is part of its caller.
#define RONDO_DEVICE __device__ __forceinline__
/// Marks a function that only a device thread calls, and that is compiled once for all callers.
#define RONDO_DEVICE_OUTLINE __device__ __noinline__
/// Marks a function of kernels/cuda/device.h, which each kind of machine defines in its own way.
#define RONDO_DEVICE_PRIMITIVE __device__ __forceinline__
#else
#define RONDO_HD
#define RONDO_DEVICE inline
#define RONDO_DEVICE_OUTLINE inline
#define RONDO_DEVICE_PRIMITIVE
#endif
