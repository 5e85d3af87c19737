// Which kernels are compiled together: each list becomes one fat binary (an "image"), so that they
// compile side by side and a program loads those of its types only. X(enumerator, short name) of
// RONDO_FOR_EACH_DATA_TYPE; read by entry.cuh's users and by device_library.cc.
#pragma once

#define RONDO_KERNELS_OF_BYTES(X) X(Int8, int8) X(Uint8, uint8) X(Bool, bool)
#define RONDO_KERNELS_OF_INTS(X) X(Int16, int16) X(Uint16, uint16) X(Int32, int32) X(Uint32, uint32)
#define RONDO_KERNELS_OF_WORDS(X) X(Int64, int64) X(Uint64, uint64)
#define RONDO_KERNELS_OF_FLOATS(X) X(Float32, float) X(Float64, double)
#define RONDO_KERNELS_OF_HALVES(X) X(Float16, half) X(Bfloat16, bfloat16)
#define RONDO_KERNELS_OF_FP8(X) X(Float8E4m3, fp8_e4m3) X(Float8E5m2, fp8_e5m2)

/// Every image: X(name, list of its kernels). kernels/cuda/CMakeLists.txt compiles entry_<name>.cu.
#define RONDO_FOR_EACH_DEVICE_IMAGE(X) \
  X(bytes, RONDO_KERNELS_OF_BYTES)     \
  X(ints, RONDO_KERNELS_OF_INTS)       \
  X(words, RONDO_KERNELS_OF_WORDS)     \
  X(floats, RONDO_KERNELS_OF_FLOATS)   \
  X(halves, RONDO_KERNELS_OF_HALVES)   \
  X(fp8, RONDO_KERNELS_OF_FP8)
