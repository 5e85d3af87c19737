# Build options, and the flags that every target of this project is compiled with.
# Interface targets only: nothing here changes global state.

option(RONDO_BUILD_TESTS "Build the test suite (needs GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_BUILD_PERF "Build the micro-benchmarks (needs Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_NCCL "Build libnccl.so.2, which programs for NCCL run with" ON)
option(RONDO_WERROR "Treat warnings as errors (CI does)" OFF)
set(RONDO_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")

add_library(rondo_build_flags INTERFACE)
target_compile_features(rondo_build_flags INTERFACE cxx_std_20 c_std_99)
target_include_directories(rondo_build_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(rondo_build_flags INTERFACE
  # No contraction: a * b + c must round twice wherever it is compiled (docs/numerics.md).
  -ffp-contract=off
  -Wall -Wextra -Wshadow -Wvla $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
  $<$<BOOL:${RONDO_WERROR}>:-Werror>)
if(RONDO_SANITIZE)
  # Undefined behaviour ends the program as the others do, instead of only printing a line.
  target_compile_options(rondo_build_flags INTERFACE
    -fsanitize=${RONDO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
    # GCC's manual: sanitizers make this warning wrong more often. The release build has it on.
    -Wno-maybe-uninitialized)
  if(RONDO_SANITIZE STREQUAL "thread")
    # It does not model fences. Ours (kernels/memory_order.h) order atomic words only, and those it
    # never reports.
    target_compile_options(rondo_build_flags INTERFACE -Wno-tsan)
  endif()
  target_link_options(rondo_build_flags INTERFACE -fsanitize=${RONDO_SANITIZE})
endif()
