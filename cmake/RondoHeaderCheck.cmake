# Compiles every header alone, as the only include of a generated source file: a header that needs
# another one to be included first does not build. Part of the normal build when tests are on.
# Headers that a source of the same name includes before anything else are proved so by that (as the
# sources were when CMake last ran).
# rondo.h is also compiled as C99, which is what it promises.

# Compiled only with the flags of the instruction set that includes it (kernels/host/CMakeLists.txt).
set(rondo_headers_not_alone kernels/host/combine_simd.h)

foreach(folder IN ITEMS include collectives kernels transports src)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/${folder}/*.h ${PROJECT_SOURCE_DIR}/${folder}/*.hpp)
  list(APPEND rondo_headers ${found})
endforeach()
list(REMOVE_ITEM rondo_headers ${rondo_headers_not_alone})
foreach(header IN LISTS rondo_headers)
  string(REGEX REPLACE "[.]h(pp)?$" ".cc" source ${PROJECT_SOURCE_DIR}/${header})
  if(EXISTS ${source})
    file(STRINGS ${source} first LIMIT_COUNT 1 REGEX "^#include ")
    if(first STREQUAL "#include \"${header}\"")
      list(REMOVE_ITEM rondo_headers ${header})
    endif()
  endif()
endforeach()
# They include libibverbs' own.
if(NOT RONDO_VERBS_FOUND)
  list(FILTER rondo_headers EXCLUDE REGEX
    "^transports/verbs/(device|library|link_end|queue_pair|recv_link|send_link|verbs_transport)[.]h$")
endif()

set(rondo_header_sources "")
foreach(header IN LISTS rondo_headers)
  set(source ${PROJECT_BINARY_DIR}/header_check/${header}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n" @ONLY)
  list(APPEND rondo_header_sources ${source})
endforeach()

add_library(rondo_header_check OBJECT ${rondo_header_sources})
target_link_libraries(rondo_header_check PRIVATE rondo_build_flags)
if(RONDO_VERBS_FOUND)
  target_include_directories(rondo_header_check SYSTEM PRIVATE ${RONDO_VERBS_INCLUDE_DIR})
endif()
target_compile_options(rondo_header_check PRIVATE -O0)   # nobody runs them

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/header_check/rondo_c99.c CONTENT
[[#include <rondo/rondo.h>
#include <rondo/rondo.h>
]])
add_library(rondo_header_check_c99 OBJECT ${PROJECT_BINARY_DIR}/header_check/rondo_c99.c)
target_link_libraries(rondo_header_check_c99 PRIVATE rondo_build_flags)
target_compile_options(rondo_header_check_c99 PRIVATE -pedantic-errors -Wstrict-prototypes)
set_target_properties(rondo_header_check_c99 PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
