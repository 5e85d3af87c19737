# What others get: the symbols and needs of the shared library, and an installed copy of Rondo used
# through CMake, through pkg-config and from the command line.

rondo_add_command_test(exported_symbols LABELS packaging
  COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D LIBRARY=$<TARGET_FILE:rondo>
    -P ${CMAKE_CURRENT_LIST_DIR}/exported_symbols.cmake)
rondo_add_command_test(no_foreign_needed LABELS packaging
  COMMAND ${CMAKE_COMMAND} -D READELF=${CMAKE_READELF} -D LIBRARY=$<TARGET_FILE:rondo>
    -P ${CMAKE_CURRENT_LIST_DIR}/no_foreign_needed.cmake)

set(rondo_packaging_folder ${PROJECT_BINARY_DIR}/packaging)
set(rondo_packaging_prefix ${rondo_packaging_folder}/prefix)

rondo_add_command_test(packaging_install LABELS packaging
  COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -D PREFIX=${rondo_packaging_prefix}
    -P ${CMAKE_CURRENT_LIST_DIR}/install.cmake)
set_tests_properties(packaging_install PROPERTIES FIXTURES_SETUP rondo_installed)

rondo_add_command_test(packaging_cmake LABELS packaging
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_LIST_DIR}/consumer ${rondo_packaging_folder}/cmake
    --build-generator ${CMAKE_GENERATOR}
    --build-options
      -DCMAKE_PREFIX_PATH=${rondo_packaging_prefix}
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error)

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  # Each compares the table of settings with another place that names them (`settings_test.py`).
  foreach(check IN ITEMS page fields one_reader names launchers)
    rondo_add_command_test(settings_${check} LABELS packaging
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/settings_test.py
        $<TARGET_FILE:rondo_cli> ${PROJECT_SOURCE_DIR} ${check})
  endforeach()
  # Pages: what they tell readers to type and to call exists (`pages_test.py`).
  foreach(check IN ITEMS commands flags api_names code links)
    rondo_add_command_test(pages_${check} LABELS packaging TIMEOUT 600
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/pages_test.py
        $<TARGET_FILE:rondo_cli> ${PROJECT_SOURCE_DIR} ${check})
  endforeach()
  set_tests_properties(pages_commands PROPERTIES PROCESSORS 2)
  set_tests_properties(pages_code PROPERTIES
    ENVIRONMENT "CC=${CMAKE_C_COMPILER};CXX=${CMAKE_CXX_COMPILER}")
endif()

find_program(RONDO_PKG_CONFIG pkg-config)
mark_as_advanced(RONDO_PKG_CONFIG)
if(RONDO_PKG_CONFIG)
  rondo_add_command_test(packaging_pkg_config LABELS packaging
    COMMAND ${CMAKE_COMMAND} -D PKG_CONFIG=${RONDO_PKG_CONFIG}
      -D LIBDIR=${rondo_packaging_prefix}/${CMAKE_INSTALL_LIBDIR}
      -D CC=${CMAKE_C_COMPILER} -D CXX=${CMAKE_CXX_COMPILER}
      -D SOURCES=${CMAKE_CURRENT_LIST_DIR}/consumer
      -D OUT=${rondo_packaging_folder}/pkg_config
      -P ${CMAKE_CURRENT_LIST_DIR}/pkg_config.cmake)
  set_tests_properties(packaging_pkg_config PROPERTIES FIXTURES_REQUIRED rondo_installed)
endif()

rondo_add_command_test(packaging_command LABELS packaging
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_packaging_prefix}/${CMAKE_INSTALL_BINDIR}/rondo --help)
set_tests_properties(packaging_cmake packaging_command PROPERTIES
  FIXTURES_REQUIRED rondo_installed)
