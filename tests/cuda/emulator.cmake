# Kernels run on the CPU, thread by thread (tests/cuda/emulator/machine.h): needs no CUDA compiler.

# Only what defines the functions of kernels/cuda/device.h is compiled with sanitizers: they are
# told about the emulator's fibers and shall not judge its bookkeeping.
set(rondo_emulator_core
  ${CMAKE_CURRENT_LIST_DIR}/emulator/block.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/device_calls.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/fiber.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/machine.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/report.cc
  ${CMAKE_CURRENT_LIST_DIR}/emulator/scheduler.cc)
# -O2 also with sanitizers: what is not part of its caller here may be linked in from instrumented code.
set_source_files_properties(${rondo_emulator_core} PROPERTIES
  COMPILE_OPTIONS "-O2;-fno-sanitize=all")

function(rondo_add_cuda_emulator name)
  add_library(${name} STATIC
    ${rondo_emulator_core}
    ${CMAKE_CURRENT_LIST_DIR}/emulator/device_emulated.cc)
  target_link_libraries(${name} PUBLIC rondo_build_flags)
  # It is part of the driver double, too, which is a shared library.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(RONDO_SANITIZE MATCHES "thread")
    target_compile_definitions(${name} PRIVATE RONDO_EMULATOR_TSAN)
  elseif(RONDO_SANITIZE MATCHES "address")
    target_compile_definitions(${name} PRIVATE RONDO_EMULATOR_ASAN)
  endif()
endfunction()

rondo_add_cuda_emulator(rondo_cuda_emulator)
rondo_add_test(conversion_test LABELS cuda_emulated
  SOURCES conversion_test.cc coding_test.cc
  LIBRARIES rondo_cuda_emulator rondo_kernels_host)
rondo_add_test(emulator_test LABELS cuda_emulated
  SOURCES emulator_test.cc
  LIBRARIES rondo_cuda_emulator)

# The same with the contexts that processors use for which there is no switch of our own. Deadlocks
# take long to see with them.
rondo_add_cuda_emulator(rondo_cuda_emulator_portable)
target_compile_definitions(rondo_cuda_emulator_portable PRIVATE RONDO_EMULATOR_PORTABLE)
rondo_add_test(emulator_portable_test LABELS cuda_emulated
  SOURCES emulator_test.cc
  LIBRARIES rondo_cuda_emulator_portable
  ARGS --gtest_filter=Emulator.*)

# What sanitizers must say of kernels with a bug, and must not of others.
add_executable(emulator_mutants ${CMAKE_CURRENT_LIST_DIR}/emulator_mutants.cc)
target_link_libraries(emulator_mutants PRIVATE rondo_cuda_emulator)

function(rondo_add_mutant_test kernel expected)
  rondo_add_command_test(emulator_mutant_${kernel} LABELS cuda_emulated
    COMMAND emulator_mutants ${kernel})
  set_tests_properties(emulator_mutant_${kernel} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

foreach(kernel IN ITEMS correct two_launches shared)
  rondo_add_command_test(emulator_mutant_none_${kernel} LABELS cuda_emulated
    COMMAND emulator_mutants ${kernel})
endforeach()
if(RONDO_SANITIZE MATCHES "thread")
  foreach(kernel IN ITEMS relaxed_post relaxed_observe no_barrier_before_post
      no_barrier_after_observe vote_for_barrier no_credit two_ranks shared_without_barrier
      shared_without_second_barrier)
    rondo_add_mutant_test(${kernel}
      "data race.*#0[^#]*(writeSlot.*#0[^#]*readSlot|readSlot.*#0[^#]*writeSlot)")
  endforeach()
elseif(RONDO_SANITIZE MATCHES "address")
  rondo_add_mutant_test(beyond_shared "heap-buffer-overflow.*launchBeyond")
endif()
