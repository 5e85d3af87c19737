# Bad input through the C API: told, and without harm to the communicator.

rondo_add_test(bad_input_test LABELS collective
  SOURCES ${PROJECT_SOURCE_DIR}/tests/collective/bad_input_test.cc
  LIBRARIES rondo_static
  TIMEOUT 60)
