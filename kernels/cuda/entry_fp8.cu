#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_FP8(RONDO_ENTRY)
