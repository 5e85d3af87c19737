# Kernels run on the CPU, thread by thread (tests/cuda/emulator/machine.h): needs no CUDA compiler.

# Only what defines the functions of kernels/cuda/device.h is compiled with sanitizers: they are
# told about the emulator's fibers and shall not judge its bookkeeping.
set(rondo_emulator_core
  ${CMAKE_CURRENT_LIST_DIR}/emulator/block.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/fiber.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/machine.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/report.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/scheduler.cc)
# -O2 also with sanitizers: what is not part of its caller here may be linked in from instrumented code.
set_source_files_properties(${rondo_emulator_core} PROPERTIES
  COMPILE_OPTIONS "-O2;-fno-sanitize=all")

add_library(rondo_cuda_emulator STATIC
  ${rondo_emulator_core}
  ${CMAKE_CURRENT_LIST_DIR}/emulator/device_emulated.cc)
target_link_libraries(rondo_cuda_emulator PUBLIC rondo_build_flags)
if(RONDO_SANITIZE MATCHES "thread")
  target_compile_definitions(rondo_cuda_emulator PRIVATE RONDO_EMULATOR_TSAN)
elseif(RONDO_SANITIZE MATCHES "address")
  target_compile_definitions(rondo_cuda_emulator PRIVATE RONDO_EMULATOR_ASAN)
endif()

rondo_add_test(conversion_test LABELS cuda_emulated
  SOURCES conversion_test.cc
  LIBRARIES rondo_cuda_emulator)
rondo_add_test(emulator_test LABELS cuda_emulated
  SOURCES emulator_test.cc
  LIBRARIES rondo_cuda_emulator)
