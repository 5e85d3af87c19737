# Run as: cmake -D NM=<nm> -D OBJECTS=<objects, ;-separated> -P simd_symbols.cmake
# Fails if a file compiled for an instruction set emits an inline function from outside its own
# namespace: the linker keeps one copy of such a function, and it could be this one.
foreach(object IN LISTS OBJECTS)
  if(NOT object MATCHES "(combine|int8_loops)_avx[0-9]+\\.cc")
    continue()
  endif()
  execute_process(COMMAND ${NM} -C --defined-only ${object}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," symbols "${symbols}")
  string(REPLACE "\n" ";" symbols "${symbols}")
  set(checked ${checked} ${object})
  foreach(symbol IN LISTS symbols)
    if(symbol MATCHES "^[0-9a-f]+ [WVu] " AND NOT symbol MATCHES "rondo::host::N_AVX[0-9]+::|DW\\.ref\\.")
      message(SEND_ERROR "${object}: ${symbol}")
    endif()
  endforeach()
endforeach()
if(NOT checked)
  message(FATAL_ERROR "none of the objects is one of the AVX files: ${OBJECTS}")
endif()
