# The command: its parts as unit tests, and itself as a user runs it.

rondo_add_test(predictable_test LABELS unit
  SOURCES predictable_test.cc
  LIBRARIES rondo_predictable)
rondo_add_test(rank_buffers_test LABELS unit
  SOURCES rank_buffers_test.cc
  LIBRARIES rondo_cli_parts)
rondo_add_test(cli_parts_test LABELS unit
  SOURCES cli_parts_test.cc
  LIBRARIES rondo_cli_parts)

rondo_add_test(doctor_test LABELS unit
  SOURCES
    doctor/control_group_test.cc
    doctor/device_findings_test.cc
    doctor/host_findings_test.cc
    doctor/made_up_machine.cc
    doctor/pairs_test.cc
    doctor/setting_findings_test.cc
  LIBRARIES rondo_cli_parts)

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  # Each checks one promise of the command; `command_test.py --help` lists them.
  foreach(check IN ITEMS perf_sweep perf_blocks perf_buffers perf_output perf_algorithms usage explain explain_agrees
      explain_topology tune perf_processes doctor doctor_findings run_bind run_output run_failure run_signals)
    rondo_add_command_test(cli_${check} LABELS collective cli TIMEOUT 600
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/command_test.py
        $<TARGET_FILE:rondo_cli> ${check})
  endforeach()
endif()
