# The same calls over each transport between processes.

# What transports/transport.h promises, for each transport.
add_library(rondo_transport_body OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/transport_body.cc
  ${CMAKE_CURRENT_LIST_DIR}/transport_team.cc)
target_link_libraries(rondo_transport_body PUBLIC rondo_static GTest::gtest rondo_build_flags)
rondo_add_test(transport_test LABELS multiprocess
  SOURCES transport_test.cc
  LIBRARIES rondo_example_packets rondo_transport_body)

rondo_add_test(process_group_test LABELS unit
  SOURCES process_group_test.cc
  LIBRARIES rondo_static)
rondo_add_test(faulty_transport_test LABELS fault
  SOURCES faulty_transport_test.cc
  LIBRARIES rondo_static)

# Ranks are threads of the test, but meet and connect as processes do, so that one run covers
# thousands of cases. What one process may use for slots is then used by all of them: no limit. The quick suites run under sanitizers, too: they take those with the label
# collective. Each case of the matrix runs between threads and, once, over one of shm, tcp and both;
# each axis between threads and over one of shm and tcp.
set(rondo_share_shm RONDOTEST_SHARE=0/3)
set(rondo_share_tcp RONDOTEST_SHARE=1/3)
set(rondo_share_mixed RONDOTEST_SHARE=2/3)
foreach(transport IN ITEMS shm tcp)
  foreach(suite IN ITEMS matrix axis soak failure mismatch split group interface message_soak varied)
    set(labels multiprocess)
    set(share ${rondo_share_${transport}})
    if(suite STREQUAL "axis")
      string(REGEX REPLACE "^[^=]*=(.)/.*" "\\1" index "${share}")
      set(share GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=${index})
    endif()
    if(suite MATCHES "^(soak|failure|split)$")
      list(APPEND labels collective)
    endif()
    rondo_add_command_test(${transport}_${suite}_test LABELS ${labels} TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_SLOT_MEMORY_BYTES=0 RONDO_TRANSPORT=${transport}
        ${share} $<TARGET_FILE:collective_${suite}_test>)
  endforeach()
endforeach()

# Half of the ranks believe to be on another host: memory inside the halves, tcp between them.
foreach(suite IN ITEMS matrix soak failure mismatch split group interface message_soak varied)
  rondo_add_command_test(mixed_${suite}_test LABELS multiprocess TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_SLOT_MEMORY_BYTES=0 RONDOTEST_HOSTS=2
      ${rondo_share_mixed} $<TARGET_FILE:collective_${suite}_test>)
endforeach()

# The same with the ranks of the two hosts in turn, and of three: uneven, and none next to another.
foreach(hosts IN ITEMS 2 3)
  rondo_add_command_test(scattered_${hosts}_matrix_test LABELS multiprocess TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_SLOT_MEMORY_BYTES=0
      RONDOTEST_HOSTS=${hosts} RONDOTEST_SCATTER=1 RONDOTEST_ONLY=two_level
      $<TARGET_FILE:collective_matrix_test>)
endforeach()

# Field test Z01: calls of nothing, in no time.
foreach(transport IN ITEMS shm tcp)
  rondo_add_command_test(${transport}_nothing_test LABELS multiprocess
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_SLOT_MEMORY_BYTES=0 RONDO_TRANSPORT=${transport}
      $<TARGET_FILE:collective_field_sizes_test> --gtest_filter=*Z01*)
endforeach()

# Ranks are processes. Over shared memory the suites run by themselves.
foreach(suite IN ITEMS collectives failure mismatch fork lifecycle init)
  rondo_add_command_test(tcp_processes_${suite}_test LABELS multiprocess fault TIMEOUT 300
    COMMAND ${CMAKE_COMMAND} -E env RONDO_TRANSPORT=tcp $<TARGET_FILE:multiprocess_${suite}_test>)
endforeach()
