#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_BYTES(RONDO_ENTRY)
