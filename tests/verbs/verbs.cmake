# The verbs transport over a double of libibverbs: needs its headers, and no adapter.

# The library loads it in place of the system's: programs that are linked with it have it loaded
# already, others find it by LD_LIBRARY_PATH.
add_library(rondo_verbs_double SHARED
  ${CMAKE_CURRENT_LIST_DIR}/verbs_double/adapter.cc
  ${CMAKE_CURRENT_LIST_DIR}/verbs_double/libibverbs.cc
  ${CMAKE_CURRENT_LIST_DIR}/verbs_double/peer_processes.cc
  ${CMAKE_CURRENT_LIST_DIR}/verbs_double/world.cc)
target_link_libraries(rondo_verbs_double PUBLIC rondo_build_flags)
target_include_directories(rondo_verbs_double SYSTEM PUBLIC ${RONDO_VERBS_INCLUDE_DIR})
set_target_properties(rondo_verbs_double PROPERTIES OUTPUT_NAME ibverbs SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/verbs_double)

# What transports/transport.h promises, on both kinds of network, with requests and completions that
# are late, with little that is inline, and with messages shorter than slots.
rondo_add_test(verbs_transport_test LABELS verbs_double collective
  SOURCES transport_test.cc
  LIBRARIES rondo_verbs_double rondo_transport_body)
foreach(variant IN ITEMS
    "infiniband RONDOTEST_VERBS_DEVICES=rdma0=ib,rdma1=ib"
    "late RONDOTEST_VERBS_DELAY_US=200"
    "outlined RONDOTEST_VERBS_INLINE=0"
    "pieces RONDOTEST_VERBS_MESSAGE=1000")
  string(REGEX MATCH "^([a-z]+) (.*)$" matched "${variant}")
  rondo_add_command_test(verbs_transport_${CMAKE_MATCH_1}_test LABELS verbs_double
    COMMAND ${CMAKE_COMMAND} -E env ${CMAKE_MATCH_2} $<TARGET_FILE:verbs_transport_test>)
endforeach()
