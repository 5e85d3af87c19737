# Collectives over ranks that are threads: all algorithms, types, sizes and ways to fail.

add_library(rondo_collective_harness STATIC
  ${CMAKE_CURRENT_LIST_DIR}/call_axes.cc
  ${CMAKE_CURRENT_LIST_DIR}/communicators.cc
  ${CMAKE_CURRENT_LIST_DIR}/compressed_call.cc
  ${CMAKE_CURRENT_LIST_DIR}/covering_array.cc
  ${CMAKE_CURRENT_LIST_DIR}/forked_children.cc
  ${CMAKE_CURRENT_LIST_DIR}/guarded_buffer.cc
  ${CMAKE_CURRENT_LIST_DIR}/mismatch_cases.cc
  ${CMAKE_CURRENT_LIST_DIR}/plain_call.cc
  ${CMAKE_CURRENT_LIST_DIR}/prepared_call.cc
  ${CMAKE_CURRENT_LIST_DIR}/rank_outcomes.cc
  ${CMAKE_CURRENT_LIST_DIR}/rank_team.cc
  ${CMAKE_CURRENT_LIST_DIR}/reference.cc
  ${CMAKE_CURRENT_LIST_DIR}/test_inputs.cc)
target_link_libraries(rondo_collective_harness PUBLIC
  rondo_static GTest::gtest rondo_build_flags)

rondo_add_test(collective_matrix_test LABELS collective TIMEOUT 600
  SOURCES matrix_test.cc
  LIBRARIES rondo_collective_harness)
# The same cases again: what differs is how slots are stored. A third of them, as over each transport
# between processes (tests/transport/transport.cmake).
set(rondo_streamed_share RONDOTEST_SHARE=0/3)
set(rondo_in_place_share RONDOTEST_SHARE=0/3)
set(rondo_workers_share "")
# Sanitizers, to which the same loops look the same with every type and count: half of the cases,
# each in one of these ways. Of the axes a third, and another with several workers: three does
# not divide the number of algorithms, so that each axis leaves others of them out.
if(RONDO_SANITIZE)
  set_property(TEST collective_matrix_test APPEND PROPERTY ENVIRONMENT RONDOTEST_SHARE=0/4)
  set(rondo_streamed_share RONDOTEST_SHARE=1/8)
  set(rondo_in_place_share RONDOTEST_SHARE=2/8)
  set(rondo_workers_share GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=1)
endif()
rondo_add_command_test(collective_streamed_matrix_test LABELS collective TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env RONDO_STORES=streamed ${rondo_streamed_share}
    $<TARGET_FILE:collective_matrix_test>)
rondo_add_command_test(collective_in_place_matrix_test LABELS collective TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env RONDO_ZERO_COPY_BYTES=1 ${rondo_in_place_share}
    $<TARGET_FILE:collective_matrix_test>)
rondo_add_test(collective_memory_test LABELS collective
  SOURCES memory_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_axis_test LABELS collective TIMEOUT 600
  SOURCES axis_test.cc
  LIBRARIES rondo_collective_harness)
if(RONDO_SANITIZE)
  set_property(TEST collective_axis_test APPEND PROPERTY ENVIRONMENT
    GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=0)
endif()
rondo_add_test(collective_soak_test LABELS collective TIMEOUT 300
  SOURCES soak_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_command_test(collective_soak_long_test LABELS collective slow TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_SOAK_S=180 RONDOTEST_SEED=11
    $<TARGET_FILE:collective_soak_test>)
rondo_add_test(collective_field_values_test LABELS collective TIMEOUT 300
  SOURCES field_values_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_test(collective_field_sizes_test LABELS collective TIMEOUT 600
  SOURCES field_sizes_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_test(collective_failure_test LABELS collective TIMEOUT 300
  SOURCES failure_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_mismatch_test LABELS collective TIMEOUT 300
  SOURCES mismatch_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_group_test LABELS collective TIMEOUT 300
  SOURCES group_test.cc tag_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_stream_test LABELS collective TIMEOUT 300
  SOURCES stream_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_interface_test LABELS collective TIMEOUT 300
  SOURCES nonblocking_test.cc query_test.cc user_reduction_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_message_soak_test LABELS collective TIMEOUT 300
  SOURCES message_soak_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_test(collective_varied_test LABELS collective TIMEOUT 300
  SOURCES varied_test.cc field_exchange_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_test(collective_compressed_test LABELS collective TIMEOUT 300
  SOURCES compressed_test.cc
  LIBRARIES rondo_collective_harness GTest::gmock)
rondo_add_command_test(collective_streamed_compressed_test LABELS collective TIMEOUT 300
  COMMAND ${CMAKE_COMMAND} -E env RONDO_STORES=streamed
    $<TARGET_FILE:collective_compressed_test> --gtest_filter=CompressedMatrix.*)
rondo_add_test(collective_fork_test LABELS collective TIMEOUT 300
  SOURCES fork_test.cc workers_test.cc
  LIBRARIES rondo_collective_harness)
# All algorithms, and the ways to fail, where threads of a rank share all lanes, also of small calls.
set(rondo_workers RONDO_WORKERS=3 RONDO_MAILBOX_BYTES=0)
rondo_add_command_test(collective_workers_test LABELS collective TIMEOUT 300
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_workers} ${rondo_workers_share}
    $<TARGET_FILE:collective_axis_test> --gtest_filter=*ManyChannels*:*EveryValue*)
rondo_add_command_test(collective_workers_shm_test LABELS collective TIMEOUT 300
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_workers} RONDOTEST_MEET=1 RONDO_TRANSPORT=shm
    RONDO_SLOT_MEMORY_BYTES=0 $<TARGET_FILE:collective_axis_test> --gtest_filter=*ManyChannels*)
rondo_add_command_test(collective_workers_failure_test LABELS collective TIMEOUT 300
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_workers} RONDO_CHANNELS=3
    $<TARGET_FILE:collective_failure_test>)
rondo_add_command_test(collective_workers_fork_test LABELS collective
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_workers} RONDO_CHANNELS=3
    $<TARGET_FILE:collective_fork_test> --gtest_filter=Fork.*)
rondo_add_test(collective_split_test LABELS collective
  SOURCES split_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_test(collective_determinism_test LABELS collective TIMEOUT 600
  SOURCES determinism_test.cc
  LIBRARIES rondo_collective_harness)
rondo_add_test(collective_huge_test LABELS collective TIMEOUT 300
  SOURCES huge_test.cc
  ARGS --gtest_filter=HugeOnPaper.*
  LIBRARIES rondo_collective_harness)
rondo_add_command_test(collective_huge_memory_test LABELS collective slow TIMEOUT 600
  COMMAND collective_huge_test --gtest_filter=HugeInMemory.*)
