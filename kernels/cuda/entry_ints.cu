#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_INTS(RONDO_ENTRY)
