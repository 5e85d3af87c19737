# Finds what is optional: the CUDA compiler, the headers of libibverbs and hwloc, ccache. None of
# them is needed to build, and their absence is never an error unless the option says ON.
#
# Libraries named here are loaded at run time, never linked: the library needs only libc and the
# compiler's own libraries wherever it was built (docs/building.md).

set(RONDO_CUDA AUTO CACHE STRING "Compile for CUDA: AUTO (when nvcc >= 13 is found), ON or OFF")
set_property(CACHE RONDO_CUDA PROPERTY STRINGS AUTO ON OFF)
set(RONDO_VERBS AUTO CACHE STRING "Compile the verbs transport: AUTO (when its headers are found), ON or OFF")
set_property(CACHE RONDO_VERBS PROPERTY STRINGS AUTO ON OFF)
set(RONDO_HWLOC AUTO CACHE STRING "Read the topology with hwloc: AUTO (when its headers are found), ON or OFF")
set_property(CACHE RONDO_HWLOC PROPERTY STRINGS AUTO ON OFF)

foreach(option IN ITEMS RONDO_CUDA RONDO_VERBS RONDO_HWLOC)
  if(NOT ${option} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${option} is ${${option}}; it must be AUTO, ON or OFF")
  endif()
endforeach()

# ---- ccache -------------------------------------------------------------------------------------
option(RONDO_CCACHE "Compile through ccache when it is installed" ON)
if(RONDO_CCACHE AND PROJECT_IS_TOP_LEVEL)
  find_program(RONDO_CCACHE_PROGRAM ccache)
  mark_as_advanced(RONDO_CCACHE_PROGRAM)
  if(RONDO_CCACHE_PROGRAM)
    foreach(language IN ITEMS C CXX CUDA)
      if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER ${RONDO_CCACHE_PROGRAM})
      endif()
    endforeach()
  endif()
endif()

# ---- CUDA ---------------------------------------------------------------------------------------
# scripts/dependencies can unpack a compiler into the user's cache folder, so that a machine with
# neither driver nor toolkit compiles the kernels and inspects their PTX; it is looked for there too.
set(RONDO_CUDA_MINIMUM 13.0)

function(rondo_find_cuda_program variable name description)
  set(cache_home $ENV{XDG_CACHE_HOME})
  if(NOT cache_home)
    set(cache_home $ENV{HOME}/.cache)
  endif()
  find_program(${variable} ${name}
    HINTS ENV CUDA_PATH ENV CUDA_HOME
    PATHS /usr/local/cuda ${cache_home}/rondo/cuda-${RONDO_CUDA_MINIMUM} ${cache_home}/rondo/nvdisasm
    PATH_SUFFIXES bin
    DOC ${description})
  mark_as_advanced(${variable})
endfunction()

# Sets RONDO_NVCC_PROBLEM to why `nvcc` cannot be used, or to nothing: it must be new enough and
# compile a kernel with this machine's host compiler. enable_language(CUDA) would stop instead.
function(rondo_check_nvcc nvcc)
  set(RONDO_NVCC_PROBLEM "${nvcc} does not run" PARENT_SCOPE)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    return()
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS RONDO_CUDA_MINIMUM)
    set(RONDO_NVCC_PROBLEM
      "${nvcc} is version ${CMAKE_MATCH_1}; at least ${RONDO_CUDA_MINIMUM} is needed" PARENT_SCOPE)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/CMakeFiles/rondo_nvcc_check.cu)
  file(WRITE ${source} "__global__ void store(int* to) { *to = 1; }\nint main() { return 0; }\n")
  execute_process(COMMAND ${nvcc} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -o ${source}.out ${source}
    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(RONDO_NVCC_PROBLEM "" PARENT_SCOPE)
  else()
    set(RONDO_NVCC_PROBLEM "${nvcc} does not build a small program: ${text}" PARENT_SCOPE)
  endif()
endfunction()

set(RONDO_HAVE_CUDA FALSE)
if(RONDO_CUDA STREQUAL "OFF")
  set(RONDO_NVCC_PROBLEM "RONDO_CUDA is OFF")
else()
  rondo_find_cuda_program(RONDO_NVCC nvcc "CUDA compiler")
  rondo_find_cuda_program(RONDO_NVDISASM nvdisasm "CUDA disassembler, for tests")
  set(RONDO_NVCC_PROBLEM "no nvcc found")
  if(RONDO_NVCC)
    rondo_check_nvcc(${RONDO_NVCC})
  endif()
  if(NOT RONDO_NVCC_PROBLEM)
    set(RONDO_HAVE_CUDA TRUE)
    set(CMAKE_CUDA_COMPILER ${RONDO_NVCC} CACHE FILEPATH "CUDA compiler")
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "Host compiler of nvcc")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
  elseif(RONDO_CUDA STREQUAL "ON")
    message(FATAL_ERROR "RONDO_CUDA is ON, but: ${RONDO_NVCC_PROBLEM}")
  endif()
endif()

# ---- libraries loaded at run time: only their headers are needed ---------------------------------
function(rondo_find_header option header library)
  set(${option}_FOUND FALSE PARENT_SCOPE)
  if(${option} STREQUAL "OFF")
    return()
  endif()
  find_path(${option}_INCLUDE_DIR ${header} DOC "Where ${header} is")
  mark_as_advanced(${option}_INCLUDE_DIR)
  if(${option}_INCLUDE_DIR)
    set(${option}_FOUND TRUE PARENT_SCOPE)
  elseif(${option} STREQUAL "ON")
    message(FATAL_ERROR "${option} is ON, but ${header} of ${library} was not found")
  endif()
endfunction()

rondo_find_header(RONDO_VERBS infiniband/verbs.h libibverbs)
rondo_find_header(RONDO_HWLOC hwloc.h hwloc)

# ---- summary -------------------------------------------------------------------------------------
function(rondo_print_optional name option found missing)
  if(${option} STREQUAL "OFF")
    message(STATUS "  ${name} off (${option})")
  elseif(found)
    message(STATUS "  ${name} ${found}")
  else()
    message(STATUS "  ${name} not found: ${missing}")
  endif()
endfunction()

function(rondo_print_summary)
  message(STATUS "rondo ${PROJECT_VERSION}")
  message(STATUS "  build type  ${CMAKE_BUILD_TYPE}")
  if(RONDO_SANITIZE)
    message(STATUS "  sanitizers  ${RONDO_SANITIZE}")
  endif()
  if(RONDO_CCACHE_PROGRAM)
    message(STATUS "  ccache      ${RONDO_CCACHE_PROGRAM}")
  endif()
  message(STATUS "  tests       ${RONDO_BUILD_TESTS}, benchmarks ${RONDO_BUILD_PERF}")
  set(cuda "")
  if(RONDO_HAVE_CUDA)
    set(cuda "${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, sm_${CMAKE_CUDA_ARCHITECTURES}")
  endif()
  rondo_print_optional("cuda       " RONDO_CUDA "${cuda}" "${RONDO_NVCC_PROBLEM}")
  rondo_print_optional("verbs      " RONDO_VERBS "${RONDO_VERBS_INCLUDE_DIR}" "infiniband/verbs.h")
  rondo_print_optional("hwloc      " RONDO_HWLOC "${RONDO_HWLOC_INCLUDE_DIR}" "hwloc.h")
endfunction()
