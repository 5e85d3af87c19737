# What is known of machines, what follows from it, and life within an affinity mask.

rondo_add_test(topology_test LABELS unit
  SOURCES device_choice_test.cc machines.cc pinning_test.cc ring_order_test.cc topology_test.cc
  LIBRARIES rondo_static)
target_compile_definitions(topology_test PRIVATE
  RONDO_DGX_LIKE_XML="${CMAKE_CURRENT_LIST_DIR}/dgx_like.xml")
rondo_add_test(affinity_test LABELS unit SOURCES affinity_test.cc LIBRARIES rondo_static)
