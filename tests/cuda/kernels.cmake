# The kernels on the emulator: needs no CUDA compiler.

# Everything but the kernels themselves (entry_kernels.h), which mutants replace.
add_library(rondo_emulated_ranks STATIC
  ${CMAKE_CURRENT_LIST_DIR}/device_checks.cc
  ${CMAKE_CURRENT_LIST_DIR}/device_ranks.cc
  ${CMAKE_CURRENT_LIST_DIR}/operation.cc)
target_link_libraries(rondo_emulated_ranks PUBLIC
  rondo_cuda_emulator rondo_collective_harness)

add_library(rondo_emulated_kernels STATIC ${CMAKE_CURRENT_LIST_DIR}/entry_kernels.cc)
target_link_libraries(rondo_emulated_kernels PUBLIC rondo_cuda_emulator)

# The tests of kernels, which also run on mutants.
add_library(rondo_kernel_tests OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/kernels_failure_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/kernels_queue_test.cc)
target_link_libraries(rondo_kernel_tests PRIVATE
  rondo_emulated_ranks GTest::gtest rondo_build_flags)
target_compile_options(rondo_kernel_tests PRIVATE $<$<CONFIG:Release>:-O1>)

rondo_add_test(cuda_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_test.cc $<TARGET_OBJECTS:rondo_kernel_tests>
  LIBRARIES rondo_emulated_ranks rondo_emulated_kernels)

rondo_add_test(cuda_kernels_matrix_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_matrix_test.cc
  LIBRARIES rondo_emulated_ranks rondo_emulated_kernels)

include(${CMAKE_CURRENT_LIST_DIR}/kernel_mutants.cmake)
