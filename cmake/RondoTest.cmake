# rondo_add_test: one test executable and its CTest entry.
#
#   rondo_add_test(<name> LABELS <label...> SOURCES <file...>
#                  [LIBRARIES <target...>] [TIMEOUT <seconds>] [ARGS <arg...>] [DISCOVER])
#
# Sources are relative to tests/, or lie beside the file that calls it. One CTest entry per executable: a suite of a
# thousand cases starts one process. DISCOVER makes one entry per case instead, for suites whose
# cases take seconds each or must not share a process.

set(RONDO_TEST_TIMEOUT 120 CACHE STRING "Seconds a test may take when it sets no limit itself")

# Labels say what a test needs and what it is about (docs/testing.md); a typo would silently take a
# test out of every set, so they are checked.
set(RONDO_TEST_LABELS
  unit schedule collective packaging cli multiprocess fault cuda_emulated ptx verbs_double verbs_rxe
  net train nccl_abi python perf_race slow)

# How sanitizers behave in tests. Memory that cannot be had is null, as without them: tests look at
# what the library says then.
# The thread of the last rendezvous, which has ended, is joined only when the next one begins.
set(RONDO_TEST_ENVIRONMENT
  "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1"
  "TSAN_OPTIONS=allocator_may_return_null=1:second_deadlock_stack=1:report_thread_leaks=0"
  "UBSAN_OPTIONS=print_stacktrace=1")

function(rondo_check_labels name)
  foreach(label IN LISTS ARGN)
    if(NOT label IN_LIST RONDO_TEST_LABELS)
      message(FATAL_ERROR "test ${name} has label ${label}, which is not one of: ${RONDO_TEST_LABELS}")
    endif()
  endforeach()
endfunction()

# Ranks that wait for each other want the machine to themselves; the rest runs in parallel.
function(rondo_set_processors name)
  foreach(label IN LISTS ARGN)
    if(label MATCHES "^(collective|multiprocess|fault|net|train|cli|nccl_abi|perf_race)$")
      set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()

function(rondo_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DISCOVER" "TIMEOUT" "LABELS;SOURCES;LIBRARIES;ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LABELS OR NOT arg_SOURCES)
    message(FATAL_ERROR "rondo_add_test(${name}): needs LABELS and SOURCES, got ${ARGN}")
  endif()
  rondo_check_labels(${name} ${arg_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${RONDO_TEST_TIMEOUT})
  endif()
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${source})
      list(APPEND sources ${CMAKE_CURRENT_LIST_DIR}/${source})
    else()
      list(APPEND sources ${source})
    endif()
  endforeach()

  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main rondo_build_flags)
  # A test's own code takes longer to compile than to run.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)

  if(arg_DISCOVER)
    gtest_discover_tests(${name}
      EXTRA_ARGS ${arg_ARGS}
      TEST_PREFIX "${name}."
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
        ENVIRONMENT "${RONDO_TEST_ENVIRONMENT}")
  else()
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "${RONDO_TEST_ENVIRONMENT}")
    rondo_set_processors(${name} ${arg_LABELS})
  endif()
endfunction()

# A CTest entry that runs a command instead of a test executable.
#   rondo_add_command_test(<name> LABELS <label...> COMMAND <command...> [TIMEOUT <seconds>])
function(rondo_add_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;COMMAND")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LABELS OR NOT arg_COMMAND)
    message(FATAL_ERROR "rondo_add_command_test(${name}): needs LABELS and COMMAND, got ${ARGN}")
  endif()
  rondo_check_labels(${name} ${arg_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${RONDO_TEST_TIMEOUT})
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${RONDO_TEST_ENVIRONMENT}")
  rondo_set_processors(${name} ${arg_LABELS})
endfunction()
