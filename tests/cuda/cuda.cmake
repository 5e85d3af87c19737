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

# RONDO_NVDISASM is empty where there is none: that test says so and is skipped.
set(rondo_nvdisasm ${RONDO_NVDISASM})
if(NOT rondo_nvdisasm)
  set(rondo_nvdisasm "")
endif()
rondo_add_test(instructions_test LABELS ptx TIMEOUT 300
  SOURCES instructions_test.cc
  LIBRARIES rondo_build_flags)
target_compile_definitions(instructions_test PRIVATE
  RONDO_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}"
  RONDO_NVCC_COMMAND="${CMAKE_CUDA_COMPILER} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER}"
  RONDO_NVDISASM="${rondo_nvdisasm}")

# What ptxas said when the library was built (kernels/cuda/CMakeLists.txt).
set(rondo_image_folder ${PROJECT_BINARY_DIR}/kernels/cuda/images)
rondo_add_test(kernel_budget_test LABELS ptx
  SOURCES kernel_budget_test.cc
  LIBRARIES rondo_build_flags
  ARGS ${rondo_image_folder})
target_compile_definitions(kernel_budget_test PRIVATE
  RONDO_KERNEL_BUDGET="${CMAKE_CURRENT_LIST_DIR}/kernel_budget.txt")
add_dependencies(kernel_budget_test rondo_kernels_cuda)

# All architectures of a release: ten minutes of a processor.
rondo_add_command_test(device_library_all LABELS slow TIMEOUT 3600
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target rondo_device_library_all)
set_tests_properties(device_library_all PROPERTIES FIXTURES_SETUP rondo_device_library_all)
rondo_add_command_test(kernel_budget_all LABELS slow
  COMMAND kernel_budget_test ${rondo_image_folder}_all)
set_tests_properties(kernel_budget_all PROPERTIES FIXTURES_REQUIRED rondo_device_library_all)

# The suites of host communicators once more, with all ranks on one emulated GPU: the library loads
# the driver double in place of NVIDIA's, and every buffer counts as memory of the GPU. Only where
# there are kernels to load, though the double runs its own.
set(rondo_on_device
  RONDOTEST_ON_DEVICE=1 RONDOTEST_ALL_MEMORY=1 CUDA_LAUNCH_BLOCKING=1
  LD_LIBRARY_PATH=$<TARGET_FILE_DIR:rondo_driver_double>)
rondo_add_command_test(cuda_matrix_test LABELS cuda_emulated TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} RONDOTEST_SHARE=1/3
    $<TARGET_FILE:collective_matrix_test>)
rondo_add_command_test(cuda_whole_matrix_test LABELS cuda_emulated slow TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} $<TARGET_FILE:collective_matrix_test>)
rondo_add_command_test(cuda_axis_test LABELS cuda_emulated slow TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} $<TARGET_FILE:collective_axis_test>)
rondo_add_command_test(cuda_wide_lines_test LABELS cuda_emulated TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} RONDO_CUDA_PROTOCOL=wide_lines
    $<TARGET_FILE:collective_soak_test>)

# Left out: one thread that drives all ranks; and blocks that one rank expects and the other does not
# send, which time out here.
rondo_add_command_test(cuda_varied_test LABELS cuda_emulated TIMEOUT 300
  COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} $<TARGET_FILE:collective_varied_test>
    --gtest_filter=Varied*:-Varied.OneThreadDrivesAllRanks:*CountsThatDifferBetweenTwoRanksAreNamed)

# Threads that meet as processes do, each on a GPU of its own: plain pointers between them, and the
# pump over tcp and, where there is the double of libibverbs, verbs.
set(rondo_pumped tcp)
if(TARGET rondo_verbs_double)
  list(APPEND rondo_pumped verbs)
  list(TRANSFORM rondo_on_device REPLACE "^(LD_LIBRARY_PATH=.*)"
    "\\1:$<TARGET_FILE_DIR:rondo_verbs_double>")
endif()
foreach(transports IN ITEMS "cuda_ipc,shm" LISTS rondo_pumped)
  string(REPLACE ",shm" "" way ${transports})
  # Messages of ranks that share a device would need streams of their own; here none does. Over the
  # pump random groups of them take minutes.
  set(suites soak split)
  if(way STREQUAL "cuda_ipc")
    list(APPEND suites message_soak)
  endif()
  foreach(suite IN LISTS suites)
    rondo_add_command_test(${way}_threads_on_devices_${suite}_test LABELS cuda_emulated TIMEOUT 300
      COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} RONDOTEST_GPUS=64 RONDOTEST_MEET=1
        RONDO_SLOT_MEMORY_BYTES=0 RONDO_TRANSPORT=${transports}
        $<TARGET_FILE:collective_${suite}_test> --gtest_filter=-*OneThreadDrivesRandomGroups)
  endforeach()
endforeach()

# Ranks that are processes, once more on one emulated GPU: by handles to each other's memory, by
# mapped memory of the host, and over tcp and verbs by the pump. Since when a kernel has waited is
# known only roughly, so of a chain of ranks that wait for one that is stopped any may time out
# first. An adapter acknowledges for a process that is stopped; the double's thread is stopped with
# it. MappedMemory is about the host's.
foreach(transports IN ITEMS "cuda_ipc,shm" "shm" LISTS rondo_pumped)
  string(REPLACE ",shm" "" way ${transports})
  set(left_out *ARankStoppedInALargeOperationTimesOutByName:MappedMemory.*)
  if(way STREQUAL "verbs")
    string(APPEND left_out :*StoppedRankTimesOut)
  endif()
  foreach(suite IN ITEMS collectives failure mismatch lifecycle)
    rondo_add_command_test(${way}_devices_${suite}_test LABELS cuda_emulated TIMEOUT 300
      COMMAND ${CMAKE_COMMAND} -E env ${rondo_on_device} RONDO_DEVICE=0 RONDO_TRANSPORT=${transports}
        $<TARGET_FILE:multiprocess_${suite}_test> --gtest_filter=-${left_out})
  endforeach()
endforeach()
