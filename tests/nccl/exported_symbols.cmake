# Fails unless the library exports NCCL's functions, each as weak ncclX and strong pncclX, and
# nothing else.
#   cmake -D NM=<nm> -D LIBRARY=<file> -D FUNCTIONS=<number> -P exported_symbols.cmake

execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${listing}")

set(strong "")
set(weak "")
foreach(line IN LISTS lines)
  if(line MATCHES "^pnccl([A-Z][A-Za-z]*) T ")
    list(APPEND strong ${CMAKE_MATCH_1})
  elseif(line MATCHES "^nccl([A-Z][A-Za-z]*) W ")
    list(APPEND weak ${CMAKE_MATCH_1})
  else()
    message(FATAL_ERROR "${LIBRARY} exports what is not NCCL's: ${line}")
  endif()
endforeach()

list(SORT strong)
list(SORT weak)
if(NOT strong STREQUAL weak)
  message(FATAL_ERROR "functions and their twins differ:\n  ${weak}\n  ${strong}")
endif()
list(LENGTH weak count)
if(NOT count EQUAL FUNCTIONS)
  message(FATAL_ERROR "${count} functions, not ${FUNCTIONS}:\n  ${weak}")
endif()
