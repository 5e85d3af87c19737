# Builds and runs the consumer with what pkg-config says of an installed Rondo.
#   cmake -D PKG_CONFIG=<program> -D LIBDIR=<folder> -D CC=<c compiler> -D CXX=<c++ compiler>
#         -D SOURCES=<folder> -D OUT=<folder> -P pkg_config.cmake

set(ENV{PKG_CONFIG_PATH} ${LIBDIR}/pkgconfig)
file(MAKE_DIRECTORY ${OUT})

execute_process(COMMAND ${PKG_CONFIG} --cflags --libs "rondo >= 0.1"
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")

function(build_and_run compiler standard source)
  set(program ${OUT}/${source}.out)
  execute_process(
    COMMAND ${compiler} -std=${standard} ${SOURCES}/${source} -o ${program} ${flags} -pthread
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${LIBDIR} ${program}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

build_and_run(${CC} c99 two_ranks.c)
build_and_run(${CXX} c++17 two_ranks.cc)
