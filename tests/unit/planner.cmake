rondo_add_test(planner_test LABELS unit SOURCES unit/planner_test.cc unit/tuning_test.cc unit/worker_plans_test.cc LIBRARIES rondo_static)
