rondo_add_test(memory_order_test LABELS unit SOURCES unit/memory_order_test.cc
  LIBRARIES rondo_static)
rondo_add_test(connection_test LABELS unit SOURCES unit/connection_test.cc LIBRARIES rondo_static)
rondo_add_test(mailbox_test LABELS unit SOURCES unit/mailbox_test.cc LIBRARIES rondo_static)
rondo_add_test(streamed_stores_test LABELS unit SOURCES unit/streamed_stores_test.cc
  LIBRARIES rondo_static)
rondo_add_test(waiter_test LABELS unit SOURCES unit/waiter_test.cc LIBRARIES rondo_static)
rondo_add_test(stall_test LABELS unit SOURCES unit/stall_test.cc LIBRARIES rondo_static)
rondo_add_test(slot_account_test LABELS unit
  SOURCES unit/slot_account_test.cc
  LIBRARIES rondo_static)
rondo_add_test(tcp_links_test LABELS unit SOURCES unit/tcp_links_test.cc LIBRARIES rondo_static)
rondo_add_test(shm_test LABELS unit SOURCES unit/shm_test.cc LIBRARIES rondo_static)
