# The C API under bad input: told, and without harm to the communicator. The C++ interface.

rondo_add_test(bad_input_test LABELS collective
  SOURCES ${PROJECT_SOURCE_DIR}/tests/collective/bad_input_test.cc
  LIBRARIES rondo_static
  TIMEOUT 60)
rondo_add_test(cpp_api_test LABELS collective
  SOURCES ${PROJECT_SOURCE_DIR}/tests/collective/cpp_api_test.cc
  LIBRARIES rondo_static
  TIMEOUT 60)
