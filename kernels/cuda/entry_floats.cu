#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_FLOATS(RONDO_ENTRY)
