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
  ${CMAKE_CURRENT_LIST_DIR}/rank_team.cc
  ${CMAKE_CURRENT_LIST_DIR}/report.cc
  ${CMAKE_CURRENT_LIST_DIR}/sanitizer.cc
  ${CMAKE_CURRENT_LIST_DIR}/timing.cc
  ${CMAKE_CURRENT_LIST_DIR}/watchdog.cc
  ${PROJECT_SOURCE_DIR}/tests/collective/reference.cc
  ${PROJECT_SOURCE_DIR}/tests/collective/test_inputs.cc)
target_link_libraries(rondo_gpu_check PRIVATE rondo_cli_parts rondo_build_flags)
# It finds the libsodium that the bundle has beside it.
set_target_properties(rondo_gpu_check PROPERTIES
  OUTPUT_NAME rondo-gpu-check
  BUILD_RPATH "\$ORIGIN")
if(NOT RONDO_SANITIZE)
  target_link_options(rondo_gpu_check PRIVATE -static-libstdc++ -static-libgcc)
endif()
