# Element arithmetic, the combine loops and the floating-point mode (kernels/).

add_library(rondo_naive_arithmetic STATIC ${CMAKE_CURRENT_LIST_DIR}/naive_arithmetic.cc)
target_link_libraries(rondo_naive_arithmetic PUBLIC rondo_build_flags)

rondo_add_test(element_test LABELS unit
  SOURCES element_test.cc
  LIBRARIES rondo_kernels_host rondo_naive_arithmetic)
rondo_add_test(combine_test LABELS unit
  SOURCES combine_test.cc codec_test.cc
  LIBRARIES rondo_kernels_host rondo_naive_arithmetic)
rondo_add_test(simd_target_test LABELS unit
  SOURCES simd_target_test.cc
  LIBRARIES rondo_kernels_host)

set(float_environment_sources float_environment_test.cc)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND float_environment_sources float_environment_x86_test.cc)
  rondo_add_command_test(simd_symbols LABELS unit
    COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} "-DOBJECTS=$<TARGET_OBJECTS:rondo_kernels_host>"
      -P ${CMAKE_CURRENT_LIST_DIR}/simd_symbols.cmake)
endif()
rondo_add_test(float_environment_test LABELS unit
  SOURCES ${float_environment_sources}
  LIBRARIES rondo_kernels_host)
