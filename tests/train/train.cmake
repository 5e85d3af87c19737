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
endif()
