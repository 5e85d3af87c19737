# The index arithmetic under the schedules (collectives/partition.h, collectives/patterns/).

rondo_add_test(partition_test LABELS unit SOURCES partition_test.cc LIBRARIES rondo_collectives)
rondo_add_test(patterns_test LABELS unit SOURCES patterns_test.cc LIBRARIES rondo_collectives)
