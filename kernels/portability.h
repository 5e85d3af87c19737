// The one place that knows which compiler is reading: attributes for code that is compiled for the
// host and for the device. Everything else in collectives/ and kernels/ is free of #ifdef.
#pragma once

#if defined(__CUDACC__)
/// Marks a function that both a host thread and a device thread may call.
#define RONDO_HD __host__ __device__
#else
#define RONDO_HD
#endif
