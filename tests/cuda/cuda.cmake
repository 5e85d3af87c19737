# What the CUDA compiler alone can show; included only when there is one.

set(rondo_nvcc_test_flags
  -std=c++20 -fmad=false -arch=sm_90 -ccbin ${CMAKE_CXX_COMPILER}
  -Werror all-warnings
  -Xcompiler -Wall,-Wextra,-Wshadow,-Wconversion,-Werror,-ffp-contract=off
  -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include)

# All the way to machine code: ptxas has a word in it, too.
rondo_add_command_test(nvcc_schedules LABELS ptx TIMEOUT 300
  COMMAND ${CMAKE_CUDA_COMPILER} ${rondo_nvcc_test_flags}
    -cubin -o ${PROJECT_BINARY_DIR}/schedules_compile.cubin
    ${CMAKE_CURRENT_LIST_DIR}/schedules_compile.cu)
