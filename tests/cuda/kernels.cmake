# The kernels on the emulator: needs no CUDA compiler.

add_library(rondo_emulated_kernels STATIC
  ${CMAKE_CURRENT_LIST_DIR}/device_ranks.cc
  ${CMAKE_CURRENT_LIST_DIR}/operation.cc)
target_link_libraries(rondo_emulated_kernels PUBLIC
  rondo_cuda_emulator rondo_collective_harness)

rondo_add_test(cuda_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_test.cc
  LIBRARIES rondo_emulated_kernels)
