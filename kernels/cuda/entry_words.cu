#include "kernels/cuda/entry.cuh"

RONDO_KERNELS_OF_WORDS(RONDO_ENTRY)
