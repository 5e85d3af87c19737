# The kernels on the emulator: needs no CUDA compiler.

# Everything but the kernels themselves (entry_kernels.h), which mutants replace.
add_library(rondo_emulated_ranks STATIC
  ${CMAKE_CURRENT_LIST_DIR}/device_checks.cc
  ${CMAKE_CURRENT_LIST_DIR}/device_ranks.cc
  ${CMAKE_CURRENT_LIST_DIR}/operation.cc)
target_link_libraries(rondo_emulated_ranks PUBLIC
  rondo_cuda_emulator rondo_collective_harness)

add_library(rondo_emulated_kernels STATIC
  ${CMAKE_CURRENT_LIST_DIR}/coded_kernel.cc ${CMAKE_CURRENT_LIST_DIR}/entry_kernels.cc
  ${CMAKE_CURRENT_LIST_DIR}/message_kernel.cc)
target_link_libraries(rondo_emulated_kernels PUBLIC rondo_cuda_emulator)
# They take long to compile; the driver double, a shared library, has the same.
set_target_properties(rondo_emulated_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)

# The tests of kernels, which also run on mutants.
add_library(rondo_kernel_tests OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/kernels_failure_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/kernels_queue_test.cc)
target_link_libraries(rondo_kernel_tests PRIVATE
  rondo_emulated_ranks GTest::gtest rondo_build_flags)
target_compile_options(rondo_kernel_tests PRIVATE $<$<CONFIG:Release>:-O1>)

add_library(rondo_message_kernel_tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/message_kernels_test.cc)
target_link_libraries(rondo_message_kernel_tests PRIVATE
  rondo_emulated_ranks GTest::gtest rondo_build_flags)
rondo_add_test(cuda_message_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES message_kernel.cc $<TARGET_OBJECTS:rondo_message_kernel_tests>
  LIBRARIES rondo_emulated_ranks)

add_library(rondo_coded_kernel_tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/coded_kernels_test.cc)
target_link_libraries(rondo_coded_kernel_tests PRIVATE
  rondo_emulated_ranks GTest::gtest rondo_build_flags)
rondo_add_test(cuda_coded_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES coded_kernel.cc $<TARGET_OBJECTS:rondo_coded_kernel_tests>
  LIBRARIES rondo_emulated_ranks)

rondo_add_test(slot_layout_test LABELS cuda_emulated
  SOURCES slot_layout_test.cc
  LIBRARIES rondo_core)

rondo_add_test(cuda_kernels_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_test.cc $<TARGET_OBJECTS:rondo_kernel_tests>
  LIBRARIES rondo_emulated_ranks rondo_emulated_kernels)

rondo_add_test(cuda_kernels_matrix_test LABELS cuda_emulated TIMEOUT 300
  SOURCES kernels_matrix_test.cc
  LIBRARIES rondo_emulated_ranks rondo_emulated_kernels)

# Neither mutants nor the driver double were tried under AddressSanitizer yet.
if(RONDO_SANITIZE MATCHES "address")
  return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/kernel_mutants.cmake)

# A CUDA driver whose GPUs are the emulator; the library loads it as it loads NVIDIA's.
add_library(rondo_driver_double SHARED
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/driver.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/driver_copies.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/driver_graphs.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/fake_gpu.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/fake_memory.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_double/shared_arena.cc
  ${PROJECT_SOURCE_DIR}/kernels/cuda/entry_name.cc)
target_link_libraries(rondo_driver_double PRIVATE rondo_emulated_kernels)
target_link_libraries(rondo_driver_double PUBLIC rondo_build_flags)
set_target_properties(rondo_driver_double PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  UNITY_BUILD OFF   # its files have the driver's codes under the same names
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/driver_double)

rondo_add_test(cuda_driver_double_test LABELS cuda_emulated
  SOURCES driver_double_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_static)

rondo_add_test(cuda_device_communicator_test LABELS cuda_emulated TIMEOUT 300
  SOURCES device_communicator_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_static GTest::gmock)

rondo_add_test(cuda_device_messages_test LABELS cuda_emulated TIMEOUT 300
  SOURCES device_messages_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_static GTest::gmock)

rondo_add_test(cuda_device_compressed_test LABELS cuda_emulated TIMEOUT 300
  SOURCES device_compressed_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_collective_harness GTest::gmock)
# Every other one of its tests: of each kind those with three ranks, and with ranks that share devices.
if(RONDO_SANITIZE)
  set_property(TEST cuda_device_compressed_test APPEND PROPERTY ENVIRONMENT
    GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=0)
endif()

rondo_add_test(cuda_device_processes_test LABELS cuda_emulated TIMEOUT 300
  SOURCES device_processes_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_forked_ranks GTest::gmock)

rondo_add_test(cuda_device_process_messages_test LABELS cuda_emulated TIMEOUT 300
  SOURCES device_process_messages_test.cc driver_double/device_image.cc
  LIBRARIES rondo_driver_double rondo_forked_ranks)

if(Python3_FOUND)
  rondo_add_command_test(cli_doctor_gpus LABELS cuda_emulated cli TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:rondo_driver_double>
      ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/cli/command_test.py
      $<TARGET_FILE:rondo_cli> doctor_gpus)
endif()

rondo_add_test(device_library_test LABELS unit
  SOURCES device_library_test.cc
  LIBRARIES rondo_kernels_cuda)
target_compile_definitions(device_library_test PRIVATE
  RONDO_HAS_DEVICE_LIBRARY=$<BOOL:${RONDO_HAVE_CUDA}>)
