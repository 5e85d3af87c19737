#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_HALVES(RONDO_ENTRY)
