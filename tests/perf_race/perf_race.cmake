# The race against other libraries (perf/race/), as far as this build can run it: Rondo and the ideal.
# No time is judged.

rondo_add_test(race_values_test LABELS perf_race
  SOURCES values_test.cc
  LIBRARIES rondo_race_harness)

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  rondo_add_command_test(race_of_one_build LABELS perf_race TIMEOUT 300
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/race_test.py ${PROJECT_BINARY_DIR})
endif()
