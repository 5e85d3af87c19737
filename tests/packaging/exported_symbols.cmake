# Fails when the shared library shows a symbol that is not of the public interface.
#   cmake -D NM=<nm> -D LIBRARY=<file> -P exported_symbols.cmake

execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${listing}")

set(count 0)
set(foreign "")
foreach(line IN LISTS lines)
  if(line MATCHES "^rondo[A-Z][A-Za-z0-9]*@@?RONDO_[0-9.]+ [TDRB] ")
    math(EXPR count "${count} + 1")
  elseif(NOT line MATCHES "^RONDO_[0-9.]+(@@?RONDO_[0-9.]+)? A ")   # the version itself
    string(APPEND foreign "  ${line}\n")
  endif()
endforeach()

if(foreign)
  message(FATAL_ERROR "${LIBRARY} exports what is not rondo's:\n${foreign}")
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "${LIBRARY} exports nothing")
endif()
message(STATUS "${count} symbols, all of the public interface")
