# The trainer layer: gradients in buckets, over threads and processes; and the model of the demo.

add_library(rondo_train_harness STATIC ${CMAKE_CURRENT_LIST_DIR}/rank_threads.cc)
target_link_libraries(rondo_train_harness PUBLIC rondo_train rondo_collective_harness)

rondo_add_test(train_buckets_test LABELS train collective TIMEOUT 300
  SOURCES gradient_buckets_test.cc compressed_buckets_test.cc
  LIBRARIES rondo_train_harness GTest::gmock)
rondo_add_test(train_buckets_process_test LABELS train multiprocess fault
  SOURCES gradient_buckets_process_test.cc
  LIBRARIES rondo_train rondo_forked_ranks)
rondo_add_test(train_gpt_test LABELS train
  SOURCES gpt_test.cc
  LIBRARIES rondo_train_gpt rondo_train rondo_static)
# A library of the double's own, as cuBLAS is loaded at run time.
add_library(rondo_cublas_double SHARED ${CMAKE_CURRENT_LIST_DIR}/cublas_double.cc)
target_link_libraries(rondo_cublas_double PRIVATE rondo_build_flags)
set_target_properties(rondo_cublas_double PROPERTIES OUTPUT_NAME cublas SOVERSION 13
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cublas_double)
rondo_add_test(train_blas_test LABELS train
  SOURCES blas_test.cc
  LIBRARIES rondo_train_gpt rondo_train rondo_static GTest::gmock)
add_dependencies(train_blas_test rondo_cublas_double)
target_compile_definitions(train_blas_test PRIVATE
  RONDO_CUBLAS_DOUBLE="$<TARGET_FILE:rondo_cublas_double>")
rondo_add_test(train_data_test LABELS train
  SOURCES data_test.cc
  LIBRARIES rondo_train_gpt rondo_train rondo_static GTest::gmock)
rondo_add_test(train_training_test LABELS train TIMEOUT 300
  SOURCES training_test.cc
  LIBRARIES rondo_train_gpt rondo_train_harness GTest::gmock)
rondo_add_test(train_checkpoint_test LABELS train multiprocess fault TIMEOUT 300
  SOURCES checkpoint_test.cc
  LIBRARIES rondo_train_harness rondo_forked_ranks GTest::gmock)

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  # The command rondo-train; each check is a function of `command_test.py`.
  foreach(check IN ITEMS compared_and_reported compressed every_stage kept_for_long killed_and_resumed
      resumed_exactly wrong_arguments)
    rondo_add_command_test(train_${check} LABELS train TIMEOUT 300
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/command_test.py
        $<TARGET_FILE:rondo_train_command> ${check})
  endforeach()
  rondo_add_command_test(train_pytorch_report LABELS train
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/pytorch_report_test.py)
endif()
