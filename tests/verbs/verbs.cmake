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
# are late, with little that is inline, with messages shorter than slots, with memory for a few
# connections only, and with many adapters.
add_library(rondo_verbs_checks OBJECT ${CMAKE_CURRENT_LIST_DIR}/no_leftovers.cc)
target_link_libraries(rondo_verbs_checks PUBLIC rondo_verbs_double GTest::gtest rondo_build_flags)

rondo_add_test(verbs_transport_test LABELS verbs_double collective
  SOURCES transport_test.cc
  LIBRARIES rondo_verbs_checks rondo_transport_body)
foreach(variant IN ITEMS
    "infiniband RONDOTEST_VERBS_DEVICES=rdma0=ib,rdma1=ib"
    "late RONDOTEST_VERBS_DELAY_US=200"
    "detours RONDOTEST_VERBS_REGIONS=4"
    "rails RONDOTEST_VERBS_DEVICES=r0=roce,r1=roce,r2=ib,r3=ib,r4=roce,r5=roce,r6=ib,r7=roce"
    "outlined RONDOTEST_VERBS_INLINE=0"
    "pieces RONDOTEST_VERBS_MESSAGE=1000")
  string(REGEX MATCH "^([a-z]+) (.*)$" matched "${variant}")
  rondo_add_command_test(verbs_transport_${CMAKE_MATCH_1}_test LABELS verbs_double
    COMMAND ${CMAKE_COMMAND} -E env ${CMAKE_MATCH_2} $<TARGET_FILE:verbs_transport_test>)
endforeach()

rondo_add_test(verbs_reach_test LABELS verbs_double unit
  SOURCES reach_test.cc
  LIBRARIES rondo_static GTest::gmock)
target_include_directories(verbs_reach_test SYSTEM PRIVATE ${RONDO_VERBS_INCLUDE_DIR})

# What goes wrong, and what is said about it.
rondo_add_test(verbs_faults_test LABELS verbs_double collective
  SOURCES buffers_test.cc faults_test.cc ${PROJECT_SOURCE_DIR}/tests/transport/transport_team.cc
  LIBRARIES rondo_verbs_checks rondo_collective_harness GTest::gmock)
rondo_add_command_test(verbs_late_buffers_test LABELS verbs_double
  COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_VERBS_DELAY_US=200
    $<TARGET_FILE:verbs_faults_test> --gtest_filter=*Buffer*:*Registered*)

# The suites over it: ranks are threads that meet as processes do, then processes.
set(rondo_over_verbs
  RONDO_TRANSPORT=verbs LD_LIBRARY_PATH=$<TARGET_FILE_DIR:rondo_verbs_double>)
foreach(suite IN ITEMS matrix soak failure mismatch)
  set(labels verbs_double multiprocess)
  set(buffers "")
  if(suite MATCHES "^(soak|failure)$")
    list(APPEND labels collective)
  elseif(suite STREQUAL "matrix")
    list(APPEND labels slow)
  endif()
  if(suite STREQUAL "soak")
    set(buffers RONDOTEST_REGISTER=1 RONDO_ZERO_COPY_BYTES=64)
  endif()
  rondo_add_command_test(verbs_${suite}_test LABELS ${labels} TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_SLOT_MEMORY_BYTES=0 ${rondo_over_verbs} ${buffers}
      $<TARGET_FILE:collective_${suite}_test>)
endforeach()
# An adapter acknowledges for a process that is stopped; the double's thread is stopped with it.
foreach(suite IN ITEMS collectives failure lifecycle)
  rondo_add_command_test(verbs_processes_${suite}_test LABELS verbs_double multiprocess fault TIMEOUT 300
    COMMAND ${CMAKE_COMMAND} -E env ${rondo_over_verbs} $<TARGET_FILE:multiprocess_${suite}_test>
      --gtest_filter=-*StoppedRankTimesOut:*ARankStoppedInALargeOperationTimesOutByName)
endforeach()

# The double is not linked: its state would be the parent's, from before ranks differ.
foreach(name IN ITEMS fallback paths)
  rondo_add_test(verbs_${name}_test LABELS verbs_double multiprocess fault
    SOURCES ${name}_test.cc
    LIBRARIES rondo_forked_ranks GTest::gmock)
  set_property(TEST verbs_${name}_test APPEND PROPERTY ENVIRONMENT
    "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:rondo_verbs_double>")
endforeach()

# The real libibverbs with the kernel's soft-RoCE devices, in a virtual machine: programs that only
# run there.
#   rondo_add_guest_program(<name> SOURCES <file...> LIBRARIES <target...>)
function(rondo_add_guest_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main rondo_build_flags)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
rondo_add_guest_program(verbs_rxe_transport_test
  SOURCES rxe_transport_test.cc
  LIBRARIES rondo_transport_body)
rondo_add_guest_program(verbs_rxe_ranks_test
  SOURCES rxe_cable_test.cc rxe_collectives_test.cc rxe_network.cc
  LIBRARIES rondo_forked_ranks)

# All of it in one guest, since booting takes longer than most tests. Not for sanitizers: what they
# would find in emulated hours, they find over the double in minutes.
if(Python3_FOUND AND NOT RONDO_SANITIZE)
  rondo_add_command_test(verbs_rxe_suite LABELS verbs_rxe TIMEOUT 900
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rxe_guest/guest.py
      --devices 4 --deadline 840
      --carry $<TARGET_FILE:verbs_rxe_transport_test> --carry $<TARGET_FILE:verbs_rxe_ranks_test>
      --carry ${CMAKE_CURRENT_LIST_DIR}/rxe_suite.sh
      "sh rxe_suite.sh")
  # How the guest is started and ended, without one.
  rondo_add_command_test(verbs_rxe_guest_test LABELS verbs_rxe
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rxe_guest/guest_test.py)
endif()

if(Python3_FOUND)
  foreach(check IN ITEMS doctor_adapters perf_adapters)
    rondo_add_command_test(cli_${check} LABELS verbs_double cli TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:rondo_verbs_double>
        ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/cli/command_test.py
        $<TARGET_FILE:rondo_cli> ${check})
  endforeach()
endif()
