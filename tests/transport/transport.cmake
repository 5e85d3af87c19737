# The same calls over each transport between processes.

# What transports/transport.h promises, for each transport.
add_library(rondo_transport_body OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/transport_body.cc
  ${CMAKE_CURRENT_LIST_DIR}/transport_team.cc)
target_link_libraries(rondo_transport_body PUBLIC rondo_static GTest::gtest rondo_build_flags)
rondo_add_test(transport_test LABELS multiprocess
  SOURCES transport_test.cc
  LIBRARIES rondo_example_packets rondo_transport_body)

# Ranks are threads of the test, but meet and connect as processes do, so that one run covers
# thousands of cases. The quick suites run under sanitizers, too: they take those with the label
# collective.
foreach(transport IN ITEMS shm tcp)
  foreach(suite IN ITEMS matrix axis soak failure mismatch split)
    set(labels multiprocess)
    if(suite MATCHES "^(soak|failure|split)$")
      list(APPEND labels collective)
    endif()
    rondo_add_command_test(${transport}_${suite}_test LABELS ${labels} TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_TRANSPORT=${transport}
        $<TARGET_FILE:collective_${suite}_test>)
  endforeach()
endforeach()

# Ranks are processes. Over shared memory the suites run by themselves.
foreach(suite IN ITEMS collectives failure mismatch fork)
  rondo_add_command_test(tcp_processes_${suite}_test LABELS multiprocess fault TIMEOUT 300
    COMMAND ${CMAKE_COMMAND} -E env RONDO_TRANSPORT=tcp $<TARGET_FILE:multiprocess_${suite}_test>)
endforeach()
