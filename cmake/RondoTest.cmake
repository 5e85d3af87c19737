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

# What sanitizers run, by label (the test presets in CMakePresets.json), and all that their presets
# build: the targets of those tests, gathered for rondo_add_sanitized_tests().
function(rondo_note_sanitized labels)
  if(labels MATCHES "(^|;)(slow|cli)(;|$)" OR
     NOT labels MATCHES "(^|;)(unit|collective|cuda_emulated)(;|$)")
    return()
  endif()
  # Names of targets, and expressions that lead to their files.
  foreach(word IN LISTS ARGN)
    string(REGEX MATCHALL "TARGET_[A-Z_]+:[A-Za-z0-9_]+" files "${word}")
    list(TRANSFORM files REPLACE "^[^:]*:" "")
    foreach(target IN ITEMS ${word} LISTS files)
      if(TARGET "${target}")
        set_property(GLOBAL APPEND PROPERTY rondo_sanitized_targets ${target})
      endif()
    endforeach()
  endforeach()
endfunction()

# To be called when all tests are known.
function(rondo_add_sanitized_tests)
  get_property(targets GLOBAL PROPERTY rondo_sanitized_targets)
  list(REMOVE_DUPLICATES targets)
  add_custom_target(rondo_sanitized_tests DEPENDS ${targets})
endfunction()

# Ranks that wait for each other want the machine to themselves; the rest runs in parallel, and so
# do tests that wait most of the time for something that does not come.
function(rondo_set_processors name)
  if(name MATCHES "mismatch_test$|_failure_test$|_init_test$|_hosts_test$|^dialer_test$|^rendezvous_|^launchers_")
    return()
  endif()
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
  # Tests of one executable may use a name for different things.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  # A test's own code takes longer to compile than to run.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  rondo_note_sanitized("${arg_LABELS}" ${name})

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
  rondo_note_sanitized("${arg_LABELS}" ${arg_COMMAND})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${RONDO_TEST_ENVIRONMENT}")
  rondo_set_processors(${name} ${arg_LABELS})
endfunction()
