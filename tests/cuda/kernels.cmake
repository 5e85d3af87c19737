# The kernels on the emulator: needs no CUDA compiler.

add_library(rondo_emulated_kernels STATIC
  ${CMAKE_CURRENT_LIST_DIR}/device_ranks.cc
  ${CMAKE_CURRENT_LIST_DIR}/operation.cc)
target_link_libraries(rondo_emulated_kernels PUBLIC
  rondo_cuda_emulator rondo_collective_harness)

rondo_add_test(cuda_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_test.cc
  LIBRARIES rondo_emulated_kernels)

rondo_add_test(device_library_test LABELS unit
  SOURCES device_library_test.cc
  LIBRARIES rondo_kernels_cuda)
target_compile_definitions(device_library_test PRIVATE
  RONDO_HAS_DEVICE_LIBRARY=$<BOOL:${RONDO_HAVE_CUDA}>)
