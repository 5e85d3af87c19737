# Fails when the shared library needs more than libc and the compiler's own libraries.
#   cmake -D READELF=<readelf> -D LIBRARY=<file> -P no_foreign_needed.cmake

execute_process(COMMAND ${READELF} -d -W ${LIBRARY}
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
# Brackets would keep the elements of a list together.
string(REGEX REPLACE "\\[([^]\n]*)\\]" "<\\1>" listing "${listing}")
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*<[^>\n]+" needed "${listing}")

set(foreign "")
foreach(entry IN LISTS needed)
  string(REGEX REPLACE ".*<" "" name "${entry}")
  if(NOT name MATCHES "^(libc|libm|libstdc\\+\\+|libgcc_s|ld-linux[-a-z0-9_]*)\\.so\\.[0-9]+$")
    string(APPEND foreign "  ${name}\n")
  endif()
endforeach()

if(foreign)
  message(FATAL_ERROR "${LIBRARY} needs libraries that a machine may not have:\n${foreign}")
endif()
if(NOT needed)
  message(FATAL_ERROR "${LIBRARY}: readelf names no needed library, not even libc")
endif()
