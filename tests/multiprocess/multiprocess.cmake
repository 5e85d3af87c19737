add_library(rondo_forked_ranks STATIC ${CMAKE_CURRENT_LIST_DIR}/forked_ranks.cc)
target_link_libraries(rondo_forked_ranks PUBLIC rondo_static GTest::gtest rondo_build_flags)

rondo_add_test(multiprocess_collectives_test LABELS multiprocess
  SOURCES collectives_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_failure_test LABELS multiprocess fault
  SOURCES failure_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_dev_shm_test LABELS multiprocess
  SOURCES dev_shm_test.cc
  LIBRARIES rondo_forked_ranks)
rondo_add_test(multiprocess_mismatch_test LABELS multiprocess fault TIMEOUT 300
  SOURCES mismatch_test.cc
  LIBRARIES rondo_forked_ranks rondo_collective_harness)
rondo_add_test(multiprocess_fork_test LABELS multiprocess
  SOURCES fork_test.cc
  LIBRARIES rondo_forked_ranks rondo_collective_harness)
