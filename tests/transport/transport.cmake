# The same calls over each transport between processes.

# Ranks are threads of the test, but meet and connect as processes do, so that one run covers
# thousands of cases.
foreach(transport IN ITEMS shm tcp)
  foreach(suite IN ITEMS matrix axis soak failure mismatch split)
    rondo_add_command_test(${transport}_${suite}_test LABELS multiprocess TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_TRANSPORT=${transport}
        $<TARGET_FILE:collective_${suite}_test>)
  endforeach()
endforeach()

# Half of the ranks believe to be on another host: memory inside the halves, tcp between them.
foreach(suite IN ITEMS matrix soak failure mismatch split)
  rondo_add_command_test(mixed_${suite}_test LABELS multiprocess TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDOTEST_HOSTS=2
      $<TARGET_FILE:collective_${suite}_test>)
endforeach()

# Field test Z01: calls of nothing, in no time.
foreach(transport IN ITEMS shm tcp)
  rondo_add_command_test(${transport}_nothing_test LABELS multiprocess
    COMMAND ${CMAKE_COMMAND} -E env RONDOTEST_MEET=1 RONDO_TRANSPORT=${transport}
      $<TARGET_FILE:collective_field_sizes_test> --gtest_filter=*Z01*)
endforeach()

# Ranks are processes. Over shared memory the suites run by themselves.
foreach(suite IN ITEMS collectives failure mismatch fork lifecycle init)
  rondo_add_command_test(tcp_processes_${suite}_test LABELS multiprocess fault TIMEOUT 300
    COMMAND ${CMAKE_COMMAND} -E env RONDO_TRANSPORT=tcp $<TARGET_FILE:multiprocess_${suite}_test>)
endforeach()
