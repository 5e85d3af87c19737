// The one place that knows which compiler is reading: attributes for code that is compiled for the
// host and for the device. Everything else in collectives/ and kernels/ is free of #ifdef.
#pragma once

#if defined(__CUDACC__)
/// Marks a function that both a host thread and a device thread may call.
#define RONDO_HD __host__ __device__
/// Marks a function that only a device thread calls, and that is part of its caller.
#define RONDO_DEVICE __device__ __forceinline__
/// The same for a function that is defined in a header and is neither a member nor a template.
#define RONDO_DEVICE_INLINE __device__ __forceinline__
/// Marks a function that only a device thread calls, and that is compiled once for all callers.
#define RONDO_DEVICE_OUTLINE __device__ __noinline__
#else
#define RONDO_HD
#define RONDO_DEVICE
#define RONDO_DEVICE_INLINE inline
#define RONDO_DEVICE_OUTLINE
#endif
