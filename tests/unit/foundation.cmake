# What the library stands on: failures, settings, handles, the checks of arguments (src/), and the
# public header as C99.

rondo_add_test(status_test LABELS unit SOURCES status_test.cc LIBRARIES rondo_static)
rondo_add_test(log_test LABELS unit SOURCES log_test.cc LIBRARIES rondo_static)
rondo_add_test(config_test LABELS unit SOURCES config_test.cc LIBRARIES rondo_static)
rondo_add_test(handle_table_test LABELS unit SOURCES handle_table_test.cc LIBRARIES rondo_static)
rondo_add_test(reduction_table_test LABELS unit
  SOURCES reduction_table_test.cc
  LIBRARIES rondo_static)
rondo_add_test(argument_checks_test LABELS unit
  SOURCES argument_checks_test.cc
  LIBRARIES rondo_static)

add_executable(c_api_header_test ${CMAKE_CURRENT_LIST_DIR}/c_api_header_test.c)
set_target_properties(c_api_header_test PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_compile_options(c_api_header_test PRIVATE -pedantic -Wall -Wextra -Werror)
target_link_libraries(c_api_header_test PRIVATE rondo rondo_build_flags)
rondo_add_command_test(c_api_header_test LABELS unit COMMAND c_api_header_test)
