// The functions of libibverbs that the library uses, as one table: found at run time, so that
// neither adapters nor their software are needed where the library runs, and replaced by a double
// in tests. Much of verbs.h is inline and calls an adapter's driver through its context
// (ibv_post_send, ibv_post_recv, ibv_poll_cq, ibv_req_notify_cq): those are used as they are. The
// table holds what libibverbs.so.1 exports. Inline functions that call an exported one must not be
// used: the library would then have to be linked.
#pragma once

#include <memory>

#include <infiniband/verbs.h>

#include "src/status.h"

namespace rondo::verbs {

/// Every function: X(member, symbol, result, parameters).
#define RONDO_VERBS_FUNCTIONS(X)                                                                 \
  X(forkInit, "ibv_fork_init", int, (void))                                                      \
  X(getDeviceList, "ibv_get_device_list", ibv_device**, (int* count))                            \
  X(freeDeviceList, "ibv_free_device_list", void, (ibv_device * *list))                          \
  X(getDeviceName, "ibv_get_device_name", const char*, (ibv_device * device))                    \
  X(openDevice, "ibv_open_device", ibv_context*, (ibv_device * device))                          \
  X(closeDevice, "ibv_close_device", int, (ibv_context * context))                               \
  X(queryDevice, "ibv_query_device", int, (ibv_context * context, ibv_device_attr * attributes)) \
  X(queryPort, "ibv_query_port", int,                                                            \
    (ibv_context * context, std::uint8_t port, _compat_ibv_port_attr * attributes))              \
  X(queryGid, "_ibv_query_gid_ex", int,                                                          \
    (ibv_context * context, std::uint32_t port, std::uint32_t index, ibv_gid_entry * entry,      \
     std::uint32_t flags, std::size_t entryBytes))                                               \
  X(allocateDomain, "ibv_alloc_pd", ibv_pd*, (ibv_context * context))                            \
  X(freeDomain, "ibv_dealloc_pd", int, (ibv_pd * domain))                                        \
  X(registerMemory, "ibv_reg_mr", ibv_mr*,                                                       \
    (ibv_pd * domain, void* memory, std::size_t bytes, int access))                              \
  X(deregisterMemory, "ibv_dereg_mr", int, (ibv_mr * region))                                    \
  X(createChannel, "ibv_create_comp_channel", ibv_comp_channel*, (ibv_context * context))        \
  X(destroyChannel, "ibv_destroy_comp_channel", int, (ibv_comp_channel * channel))               \
  X(createQueue, "ibv_create_cq", ibv_cq*,                                                       \
    (ibv_context * context, int entries, void* user, ibv_comp_channel* channel, int vector))     \
  X(destroyQueue, "ibv_destroy_cq", int, (ibv_cq * queue))                                       \
  X(getQueueEvent, "ibv_get_cq_event", int,                                                      \
    (ibv_comp_channel * channel, ibv_cq * *queue, void** user))                                  \
  X(acknowledgeQueueEvents, "ibv_ack_cq_events", void, (ibv_cq * queue, unsigned count))         \
  X(createQueuePair, "ibv_create_qp", ibv_qp*, (ibv_pd * domain, ibv_qp_init_attr * attributes)) \
  X(modifyQueuePair, "ibv_modify_qp", int, (ibv_qp * pair, ibv_qp_attr * attributes, int mask))  \
  X(destroyQueuePair, "ibv_destroy_qp", int, (ibv_qp * pair))                                    \
  X(getAsyncEvent, "ibv_get_async_event", int, (ibv_context * context, ibv_async_event * event)) \
  X(acknowledgeAsyncEvent, "ibv_ack_async_event", void, (ibv_async_event * event))               \
  X(statusText, "ibv_wc_status_str", const char*, (ibv_wc_status status))                        \
  X(eventText, "ibv_event_type_str", const char*, (ibv_event_type event))

/// @threads any
struct Library {
#define RONDO_MEMBER(member, symbol, result, parameters) result(*member) parameters = nullptr;
  RONDO_VERBS_FUNCTIONS(RONDO_MEMBER)
#undef RONDO_MEMBER
};

/// An object of libibverbs with one owner.
template <class T>
using Owned = std::unique_ptr<T, int (*)(T*)>;

/// The libibverbs of this machine, loaded once per process.
/// @errors NotSupported: there is none, or it is too old.
/// @threads any
Result<const Library*> systemLibrary();

}  // namespace rondo::verbs
