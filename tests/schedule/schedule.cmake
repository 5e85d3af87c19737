# Proofs of the schedules (collectives/) by symbolic execution: see verifier.h.

add_library(rondo_schedule_verifier STATIC
  ${CMAKE_CURRENT_LIST_DIR}/any_schedule.cc
  ${CMAKE_CURRENT_LIST_DIR}/expected_results.cc
  ${CMAKE_CURRENT_LIST_DIR}/peer_tables.cc
  ${CMAKE_CURRENT_LIST_DIR}/rank_memory.cc
  ${CMAKE_CURRENT_LIST_DIR}/step_executor.cc
  ${CMAKE_CURRENT_LIST_DIR}/verifier.cc)
target_link_libraries(rondo_schedule_verifier PUBLIC rondo_collectives rondo_build_flags)

add_library(rondo_schedule_matrix STATIC ${CMAKE_CURRENT_LIST_DIR}/matrix.cc)
target_link_libraries(rondo_schedule_matrix PUBLIC rondo_schedule_verifier GTest::gtest)

# One entry per algorithm and range of ranks: they take seconds each and run side by side.
rondo_add_test(schedule_matrix_test LABELS schedule DISCOVER
  SOURCES matrix_test.cc
  LIBRARIES rondo_schedule_matrix)
rondo_add_test(schedule_head_formulas_test LABELS schedule
  SOURCES head_formulas_test.cc
  LIBRARIES rondo_schedule_matrix)
rondo_add_test(schedule_depth_one_test LABELS schedule
  SOURCES depth_one_test.cc
  LIBRARIES rondo_schedule_matrix)
rondo_add_test(schedule_sequence_test LABELS schedule
  SOURCES sequence_test.cc
  LIBRARIES rondo_schedule_matrix)
rondo_add_test(schedule_message_rounds_test LABELS schedule
  SOURCES message_rounds_test.cc
  LIBRARIES rondo_kernels_host)
rondo_add_test(schedule_varied_blocks_test LABELS schedule
  SOURCES varied_blocks_test.cc
  LIBRARIES rondo_collectives)
rondo_add_test(schedule_mutants_test LABELS schedule
  SOURCES mutants_test.cc mutants.cc
  LIBRARIES rondo_schedule_verifier)
rondo_add_test(schedule_two_level_test LABELS schedule
  SOURCES two_level_test.cc two_level_run.cc
  LIBRARIES rondo_schedule_verifier)
