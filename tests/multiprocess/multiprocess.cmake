add_library(rondo_forked_ranks STATIC
  ${CMAKE_CURRENT_LIST_DIR}/every_collective.cc
  ${CMAKE_CURRENT_LIST_DIR}/forked_ranks.cc)
target_link_libraries(rondo_forked_ranks PUBLIC rondo_static GTest::gtest rondo_build_flags)

rondo_add_test(multiprocess_collectives_test LABELS multiprocess
  SOURCES collectives_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_failure_test LABELS multiprocess fault
  SOURCES failure_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_dev_shm_test LABELS multiprocess
  SOURCES dev_shm_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_memory_test LABELS multiprocess fault
  SOURCES memory_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_slot_memory_test LABELS multiprocess
  SOURCES slot_memory_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_hosts_test LABELS multiprocess fault
  SOURCES hosts_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_lifecycle_test LABELS multiprocess fault
  SOURCES lifecycle_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_init_test LABELS multiprocess fault
  SOURCES init_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_errors_test LABELS multiprocess fault
  SOURCES errors_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_mismatch_test LABELS multiprocess fault TIMEOUT 300
  SOURCES mismatch_test.cc
  LIBRARIES rondo_forked_ranks rondo_collective_harness)
rondo_add_test(multiprocess_fork_test LABELS multiprocess
  SOURCES fork_test.cc
  LIBRARIES rondo_forked_ranks rondo_collective_harness)

# The same where threads of a rank share all lanes, also of small calls.
foreach(suite IN ITEMS failure memory)
  rondo_add_command_test(multiprocess_workers_${suite}_test LABELS multiprocess fault
    COMMAND ${CMAKE_COMMAND} -E env RONDO_WORKERS=3 RONDO_CHANNELS=3 RONDO_MAILBOX_BYTES=0
      $<TARGET_FILE:multiprocess_${suite}_test> --gtest_filter=-ProcessInit.*)
endforeach()

rondo_add_test(multiprocess_steady_state_test LABELS multiprocess
  SOURCES counted_calls.cc steady_state_test.cc
  LIBRARIES rondo_forked_ranks)
# It sees what it looks for only where its ranks run at the same time.
set_tests_properties(multiprocess_steady_state_test PROPERTIES RUN_SERIAL ON)

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_executable(environment_program ${CMAKE_CURRENT_LIST_DIR}/environment_program.cc)
  target_link_libraries(environment_program PRIVATE rondo_static rondo_build_flags)
  # Each starts ranks in another way; `launchers_test.py --help` lists them.
  foreach(check IN ITEMS variables wrong_variables other_secret secret_is_not_logged
      torchrun_variables slurm_variables root_comes_late root_never_comes same_port_again
      foreign_listener silence info_line open_mpi mpich)
    rondo_add_command_test(launchers_${check} LABELS multiprocess
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/launchers_test.py
        $<TARGET_FILE:environment_program> ${check})
    set_tests_properties(launchers_${check} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()

  add_executable(exit_program ${CMAKE_CURRENT_LIST_DIR}/exit_program.cc)
  target_link_libraries(exit_program PRIVATE rondo_static rondo_build_flags)
  foreach(transport IN ITEMS threads shm tcp)
    rondo_add_command_test(exit_of_${transport}_ranks LABELS multiprocess fault
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/exit_test.py
        $<TARGET_FILE:exit_program> ${transport})
  endforeach()
endif()
