# rondo-gpu-check: the check of everything that needs a GPU, as one program that needs nothing but
# the driver and libc (scripts/gpu-check), and what can be seen of it without a GPU.

add_executable(rondo_gpu_check
  ${CMAKE_CURRENT_LIST_DIR}/apart.cc
  ${CMAKE_CURRENT_LIST_DIR}/bandwidth.cc
  ${CMAKE_CURRENT_LIST_DIR}/captured_graph.cc
  ${CMAKE_CURRENT_LIST_DIR}/cases.cc
  ${CMAKE_CURRENT_LIST_DIR}/check_call.cc
  ${CMAKE_CURRENT_LIST_DIR}/child_process.cc
  ${CMAKE_CURRENT_LIST_DIR}/copy_timer.cc
  ${CMAKE_CURRENT_LIST_DIR}/extra_driver.cc
  ${CMAKE_CURRENT_LIST_DIR}/gpu.cc
  ${CMAKE_CURRENT_LIST_DIR}/graphs.cc
  ${CMAKE_CURRENT_LIST_DIR}/latency.cc
  ${CMAKE_CURRENT_LIST_DIR}/main.cc
  ${CMAKE_CURRENT_LIST_DIR}/matrix.cc
  ${CMAKE_CURRENT_LIST_DIR}/nccl.cc
  ${CMAKE_CURRENT_LIST_DIR}/options.cc
  ${CMAKE_CURRENT_LIST_DIR}/process_rank.cc
  ${CMAKE_CURRENT_LIST_DIR}/processes.cc
  ${CMAKE_CURRENT_LIST_DIR}/products.cc
  ${CMAKE_CURRENT_LIST_DIR}/rank_team.cc
  ${CMAKE_CURRENT_LIST_DIR}/report.cc
  ${CMAKE_CURRENT_LIST_DIR}/sanitizer.cc
  ${CMAKE_CURRENT_LIST_DIR}/timing.cc
  ${CMAKE_CURRENT_LIST_DIR}/watchdog.cc
  ${PROJECT_SOURCE_DIR}/tests/collective/reference.cc
  ${PROJECT_SOURCE_DIR}/tests/collective/test_inputs.cc)
target_link_libraries(rondo_gpu_check PRIVATE rondo_cli_parts rondo_train_gpt rondo_build_flags)
# It finds the libsodium that the bundle has beside it.
set_target_properties(rondo_gpu_check PROPERTIES
  OUTPUT_NAME rondo-gpu-check
  BUILD_RPATH "\$ORIGIN")
if(NOT RONDO_SANITIZE)
  target_link_options(rondo_gpu_check PRIVATE -static-libstdc++ -static-libgcc)
endif()

add_library(rondo_nccl_double SHARED ${CMAKE_CURRENT_LIST_DIR}/nccl_double.cc)
target_link_libraries(rondo_nccl_double PRIVATE rondo_driver_double rondo_build_flags)
set_target_properties(rondo_nccl_double PROPERTIES OUTPUT_NAME nccl SOVERSION 2
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nccl_double)

# Each sees to one promise of the program; the head of gpu_check_test.py says how to run one.
if(Python3_FOUND)
  foreach(check IN ITEMS correctness several_gpus processes figures nccl products wrong_bit
      failing_call stuck
      crash cut out_of_time no_driver sanitizer usage)
    rondo_add_command_test(gpu_check_${check} LABELS cuda_emulated
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/gpu_check_test.py
        $<TARGET_FILE:rondo_gpu_check> $<TARGET_FILE_DIR:rondo_driver_double>
        $<TARGET_FILE_DIR:rondo_nccl_double> $<TARGET_FILE_DIR:rondo_cublas_double> ${check})
  endforeach()
endif()
