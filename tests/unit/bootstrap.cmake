# How processes find and trust each other (src/net, src/bootstrap). Ranks are threads; loopback only.

rondo_add_test(socket_test LABELS unit SOURCES socket_test.cc LIBRARIES rondo_static)
rondo_add_test(interfaces_test LABELS unit SOURCES interfaces_test.cc LIBRARIES rondo_static)
rondo_add_test(launcher_test LABELS unit SOURCES launcher_test.cc LIBRARIES rondo_static)
rondo_add_test(unique_id_test LABELS unit SOURCES unique_id_test.cc LIBRARIES rondo_static)
rondo_add_test(handshake_test LABELS unit SOURCES handshake_test.cc LIBRARIES rondo_static)
rondo_add_test(frame_test LABELS unit SOURCES frame_test.cc LIBRARIES rondo_static)
rondo_add_test(rendezvous_test LABELS unit SOURCES rendezvous_test.cc LIBRARIES rondo_static)
rondo_add_test(rendezvous_fault_test LABELS fault
  SOURCES rendezvous_fault_test.cc
  LIBRARIES rondo_static)
rondo_add_test(rendezvous_rounds_test LABELS fault
  SOURCES rendezvous_rounds_test.cc
  LIBRARIES rondo_static)
# What ranks say besides data (src/control), and by what they reach each other.
rondo_add_test(control_messages_test LABELS unit
  SOURCES control_messages_test.cc
  LIBRARIES rondo_static)
rondo_add_test(transport_choice_test LABELS unit
  SOURCES transport_choice_test.cc
  LIBRARIES rondo_static)
rondo_add_test(control_plane_test LABELS fault
  SOURCES control_plane_test.cc
  LIBRARIES rondo_static)
rondo_add_test(family_hint_test LABELS unit
  SOURCES family_hint_test.cc
  LIBRARIES rondo_static)
rondo_add_test(dialer_test LABELS fault SOURCES dialer_test.cc LIBRARIES rondo_static)
