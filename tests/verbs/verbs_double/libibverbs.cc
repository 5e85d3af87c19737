// The functions of the double; see controls.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/verbs/verbs_double/controls.h"
#include "tests/verbs/verbs_double/world.h"

// In verbs.h these are macros, too.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace rondo::testing {
namespace {

std::unique_lock<std::mutex> lockWorld() {
  return std::unique_lock(World::get().mutex);
}

/// Two descriptors: what is written to the second is read from the first. Sockets: a message is
/// taken whole.
bool makePipe(int& readEnd, int& writeEnd) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  readEnd = ends[0];
  writeEnd = ends[1];
  return true;
}

template <class T>
int readWhole(int end, T& value) {
  const ssize_t got = ::read(end, &value, sizeof value);
  return got == static_cast<ssize_t>(sizeof value) ? 0 : -1;
}

/// An object that `holder` has made and now has one more, or fewer, of.
template <class Holder>
void count(Holder& holder, int change) {
  holder.objects += change;
  World::get().objects += change;
}

OpenAdapter& open(ibv_context* context) {
  return static_cast<OpenAdapter&>(*context);
}

bool overLockLimit(std::size_t bytes) {
  if (numberFrom("RONDOTEST_VERBS_MEMLOCK", 0) == 0) return false;
  std::size_t locked = bytes;
  for (const auto& [key, region] : World::get().regions)
    locked += region->length;
  rlimit limit{};
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && locked > limit.rlim_cur;
}

// Through a context's table.

int pollQueue(ibv_cq* polled, int most, ibv_wc* completions) {
  auto& queue = static_cast<Queue&>(*polled);
  if (queue.count.load(std::memory_order_acquire) == 0) return 0;
  const auto lock = lockWorld();
  const Clock::time_point now = Clock::now();
  int taken = 0;
  while (taken < most && !queue.completions.empty() && queue.completions.front().visible <= now) {
    const Completion& first = queue.completions.front();
    completions[taken++] = first.wc;
    first.pair->placesTaken -= first.retires;
    queue.completions.pop_front();
  }
  queue.count.store(queue.completions.size(), std::memory_order_release);
  return taken;
}

int requestReport(ibv_cq* queue, int /*solicitedOnly*/) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_req_notify_cq")) return errno;
  auto& armed = static_cast<Queue&>(*queue);
  armed.armed = true;
  // What is there but not to be seen yet comes after this.
  if (!armed.completions.empty()) World::get().wake();
  return 0;
}

int acceptRequest(Pair& pair, const ibv_send_wr& wr) {
  const bool known = wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
                     wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM;
  const std::uint32_t bytes = wr.num_sge == 0 ? 0 : wr.sg_list[0].length;
  const bool isInline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (pair.state != IBV_QPS_RTS && pair.state != IBV_QPS_ERR) return EINVAL;
  if (!known || wr.num_sge < 0 || wr.num_sge > 1) return EINVAL;
  if (isInline && bytes > pair.depths.max_inline_data) return EINVAL;
  if (bytes > static_cast<std::uint32_t>(World::get().messageBytes)) return EINVAL;
  if (pair.placesTaken == static_cast<int>(pair.depths.max_send_wr)) return ENOMEM;
  Request request;
  request.wr = wr;
  if (wr.num_sge == 1) request.piece = wr.sg_list[0];
  request.isInline = isInline;
  if (isInline && bytes > 0) {
    const auto* const begin = reinterpret_cast<const std::byte*>(request.piece.addr);
    request.inlined.assign(begin, begin + bytes);
  }
  request.number = pair.nextNumber;
  request.due = World::get().late();
  pair.nextNumber = (pair.nextNumber + 1) & 0xffffff;
  ++pair.placesTaken;
  pair.requests.push_back(std::move(request));
  return 0;
}

int postSend(ibv_qp* posted, ibv_send_wr* wr, ibv_send_wr** refused) {
  const auto lock = lockWorld();
  auto& pair = static_cast<Pair&>(*posted);
  for (; wr != nullptr; wr = wr->next) {
    *refused = wr;
    if (World::get().fails("ibv_post_send")) return errno;
    if (const int error = acceptRequest(pair, *wr)) return error;
  }
  if (pair.state == IBV_QPS_ERR) {
    World::get().stop(pair);
  } else {
    World::get().advance(pair);
    if (!pair.requests.empty()) World::get().wake();
  }
  return 0;
}

int postReceive(ibv_qp* posted, ibv_recv_wr* wr, ibv_recv_wr** refused) {
  const auto lock = lockWorld();
  auto& pair = static_cast<Pair&>(*posted);
  for (; wr != nullptr; wr = wr->next) {
    *refused = wr;
    if (World::get().fails("ibv_post_recv")) return errno;
    if (pair.state == IBV_QPS_RESET || wr->num_sge < 0 || wr->num_sge > 1) return EINVAL;
    if (pair.receives.size() == pair.depths.max_recv_wr) return ENOMEM;
    pair.receives.push_back({wr->wr_id, wr->num_sge == 1 ? wr->sg_list[0] : ibv_sge{}});
  }
  if (pair.state == IBV_QPS_ERR) World::get().stop(pair);
  return 0;
}

// The states of a queue pair.

constexpr int kToInitialised = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kToReceive = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToSend = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

int initialise(Pair& pair, const ibv_qp_attr& wanted, int mask) {
  if (pair.state != IBV_QPS_RESET || mask != kToInitialised) return EINVAL;
  if (wanted.port_num != 1 || wanted.pkey_index != 0) return EINVAL;
  pair.attributes.qp_access_flags = wanted.qp_access_flags;
  return 0;
}

int becomeReceiver(Pair& pair, const ibv_qp_attr& wanted, int mask) {
  if (pair.state != IBV_QPS_INIT || mask != kToReceive) return EINVAL;
  const ibv_ah_attr& path = wanted.ah_attr;
  if (wanted.path_mtu < IBV_MTU_256 || wanted.path_mtu > IBV_MTU_4096 || path.sl > 15 ||
      path.port_num != 1 || wanted.dest_qp_num > 0xffffff || wanted.rq_psn > 0xffffff) {
    return EINVAL;
  }
  if (path.is_global == 0 && (pair.adapter->ethernet || path.dlid == 0)) return EINVAL;
  if (path.is_global != 0 && path.grh.sgid_index >= pair.adapter->gids.size()) return EINVAL;
  if (!pair.adapter->active) return ETIMEDOUT;  // no way to the peer is found
  pair.attributes.path_mtu = wanted.path_mtu;
  pair.attributes.ah_attr = path;
  pair.attributes.dest_qp_num = wanted.dest_qp_num;
  pair.expectedNumber = wanted.rq_psn;
  return 0;
}

int becomeSender(Pair& pair, const ibv_qp_attr& wanted, int mask) {
  if (pair.state != IBV_QPS_RTR || mask != kToSend) return EINVAL;
  if (wanted.timeout > 31 || wanted.retry_cnt > 7 || wanted.rnr_retry > 7 ||
      wanted.sq_psn > 0xffffff) {
    return EINVAL;
  }
  pair.attributes.timeout = wanted.timeout;
  pair.attributes.retry_cnt = wanted.retry_cnt;
  pair.retriesLeft = wanted.retry_cnt;
  pair.nextNumber = wanted.sq_psn;
  return 0;
}

/// A queue pair is bound to the port's only queue of completions; what it left there is nobody's.
void forgetCompletions(Queue& queue, const Pair& pair) {
  std::erase_if(queue.completions,
                [&](const Completion& completion) { return completion.pair == &pair; });
  queue.count = queue.completions.size();
}

}  // namespace
}  // namespace rondo::testing

using namespace rondo::testing;  // NOLINT(google-build-using-namespace): all of it is spoken here

extern "C" {

// Devices.

ibv_device** ibv_get_device_list(int* count) {
  const auto lock = lockWorld();
  World& world = World::get();
  if (world.fails("ibv_get_device_list")) return nullptr;
  auto** const list = new ibv_device*[world.adapters.size() + 1];
  std::size_t at = 0;
  for (const auto& adapter : world.adapters)
    list[at++] = adapter.get();
  list[at] = nullptr;
  if (count != nullptr) *count = static_cast<int>(at);
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

int ibv_fork_init(void) {
  return 0;
}

ibv_context* ibv_open_device(ibv_device* device) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_open_device")) return nullptr;
  auto* const context = new OpenAdapter{};
  context->adapter = static_cast<Adapter*>(device);
  if (!makePipe(context->async_fd, context->asyncEnd)) {
    delete context;
    return nullptr;
  }
  context->device = device;
  context->ops.poll_cq = pollQueue;
  context->ops.req_notify_cq = requestReport;
  context->ops.post_send = postSend;
  context->ops.post_recv = postReceive;
  World::get().contexts.insert(context);
  ++World::get().objects;
  return context;
}

int ibv_close_device(ibv_context* closed) {
  const auto lock = lockWorld();
  OpenAdapter& context = open(closed);
  if (context.objects != 0) World::get().complain("an adapter is closed while it is used");
  ::close(context.async_fd);
  ::close(context.asyncEnd);
  World::get().contexts.erase(&context);
  --World::get().objects;
  delete &context;
  return 0;
}

int ibv_query_device(ibv_context* /*context*/, ibv_device_attr* attributes) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_query_device")) return errno;
  *attributes = {};
  attributes->phys_port_cnt = 1;
  attributes->max_qp = 4096;
  attributes->max_mr = World::get().mostRegions;
  attributes->max_cqe = 1 << 16;
  attributes->vendor_id = 0x123456;
  return 0;
}

/// The caller's structure may be that of an older libibverbs, which ends at `flags`.
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* old) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_query_port")) return errno;
  const Adapter& adapter = *open(context).adapter;
  if (port != 1) return EINVAL;
  ibv_port_attr attributes{};
  attributes.state = adapter.active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes.max_mtu = IBV_MTU_4096;
  attributes.active_mtu = adapter.ethernet ? IBV_MTU_1024 : IBV_MTU_4096;
  attributes.gid_tbl_len = 8;
  attributes.max_msg_sz = static_cast<std::uint32_t>(World::get().messageBytes);
  attributes.lid = adapter.lid;
  attributes.link_layer = adapter.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  std::memcpy(static_cast<void*>(old), &attributes, offsetof(ibv_port_attr, flags));
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context,
                      std::uint32_t port,
                      std::uint32_t index,
                      ibv_gid_entry* entry,
                      std::uint32_t /*flags*/,
                      std::size_t entryBytes) {
  const auto lock = lockWorld();
  const Adapter& adapter = *open(context).adapter;
  if (port != 1 || entryBytes != sizeof *entry) return EINVAL;
  if (index >= adapter.gids.size()) return ENODATA;
  *entry = {};
  std::memcpy(entry->gid.raw, adapter.gids[index].bytes.data(), sizeof entry->gid.raw);
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = adapter.gids[index].type;
  return 0;
}

// Memory.

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_alloc_pd")) return nullptr;
  auto* const domain = new Domain{};
  domain->context = context;
  count(open(context), 1);
  return domain;
}

int ibv_dealloc_pd(ibv_pd* freed) {
  const auto lock = lockWorld();
  auto* const domain = static_cast<Domain*>(freed);
  if (domain->objects != 0) return EBUSY;
  count(open(domain->context), -1);
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* memory, std::size_t bytes, int access) {
  const auto lock = lockWorld();
  World& world = World::get();
  if (world.fails("ibv_reg_mr")) return nullptr;
  if (overLockLimit(bytes) || world.regions.size() >= static_cast<std::size_t>(world.mostRegions)) {
    errno = ENOMEM;
    return nullptr;
  }
  // A program's own buffers, which are only read, lie where it likes.
  const std::uintptr_t inPage = reinterpret_cast<std::uintptr_t>(memory) % 4096;
  if (access != 0 && (inPage != 0 || bytes % 4096 != 0))
    world.complain("memory that shares a page is registered");
  auto* const region = new Region{};
  region->context = domain->context;
  region->pd = domain;
  region->addr = memory;
  region->length = bytes;
  region->lkey = region->rkey = world.newKey();
  region->access = access;
  world.regions[region->lkey] = region;
  count(static_cast<Domain&>(*domain), 1);
  return region;
}

int ibv_dereg_mr(ibv_mr* freed) {
  const auto lock = lockWorld();
  auto* const region = static_cast<Region*>(freed);
  if (World::get().isToBeRead(*region)) {
    World::get().complain("memory is deregistered that requests have still to read");
  }
  World::get().regions.erase(region->lkey);
  count(static_cast<Domain&>(*region->pd), -1);
  delete region;
  return 0;
}

// Completions.

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_create_comp_channel")) return nullptr;
  auto* const channel = new Channel{};
  channel->context = context;
  if (!makePipe(channel->fd, channel->writeEnd)) {
    delete channel;
    return nullptr;
  }
  count(open(context), 1);
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* freed) {
  const auto lock = lockWorld();
  auto* const channel = static_cast<Channel*>(freed);
  if (channel->refcnt != 0) return EBUSY;
  ::close(channel->fd);
  ::close(channel->writeEnd);
  count(open(channel->context), -1);
  delete channel;
  return 0;
}

ibv_cq* ibv_create_cq(
    ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int vector) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_create_cq")) return nullptr;
  if (entries <= 0 || vector != 0) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const queue = new Queue{};
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = user;
  queue->cqe = entries;
  if (channel != nullptr) ++channel->refcnt;
  World::get().queues.insert(queue);
  count(open(context), 1);
  return queue;
}

int ibv_destroy_cq(ibv_cq* freed) {
  const auto lock = lockWorld();
  auto* const queue = static_cast<Queue*>(freed);
  if (queue->pairs != 0) return EBUSY;
  // The real function waits for this, which may be for ever.
  if (queue->unacknowledged != 0) World::get().complain("events of a queue were not acknowledged");
  if (queue->channel != nullptr) {
    // A report of it that nobody has read yet would lead to freed memory.
    const int end = queue->channel->fd;
    std::vector<Queue*> others;
    Queue* reported = nullptr;
    while (::recv(end, &reported, sizeof reported, MSG_DONTWAIT) == sizeof reported)
      if (reported != queue) others.push_back(reported);
    for (Queue* const other : others)
      (void)!::write(static_cast<Channel*>(queue->channel)->writeEnd, &other, sizeof(void*));
    --queue->channel->refcnt;
  }
  World::get().queues.erase(queue);
  count(open(queue->context), -1);
  delete queue;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
  Queue* reported = nullptr;
  if (readWhole(channel->fd, reported) != 0) return -1;
  const auto lock = lockWorld();
  ++reported->unacknowledged;
  *queue = reported;
  *user = reported->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned events) {
  const auto lock = lockWorld();
  static_cast<Queue*>(queue)->unacknowledged -= static_cast<int>(events);
}

// Queue pairs.

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const auto lock = lockWorld();
  World& world = World::get();
  if (world.fails("ibv_create_qp")) return nullptr;
  const ibv_qp_cap& cap = wanted->cap;
  const bool possible = wanted->qp_type == IBV_QPT_RC && wanted->send_cq != nullptr &&
                        wanted->recv_cq != nullptr &&
                        cap.max_inline_data <= static_cast<unsigned>(world.inlineBytes);
  const std::uint32_t number = possible ? world.newPairNumber() : 0;
  if (number == 0) {
    errno = possible ? ENOMEM : EINVAL;
    return nullptr;
  }
  auto* const pair = new Pair{};
  pair->context = domain->context;
  pair->pd = domain;
  pair->send_cq = wanted->send_cq;
  pair->recv_cq = wanted->recv_cq;
  pair->qp_num = number;
  pair->state = IBV_QPS_RESET;
  pair->qp_type = IBV_QPT_RC;
  pair->adapter = open(domain->context).adapter;
  pair->depths = cap;
  pair->reportsAll = wanted->sq_sig_all != 0;
  ++static_cast<Queue&>(*pair->send_cq).pairs;
  ++static_cast<Queue&>(*pair->recv_cq).pairs;
  world.pairs[number] = pair;
  count(static_cast<Domain&>(*domain), 1);
  return pair;
}

int ibv_modify_qp(ibv_qp* modified, ibv_qp_attr* wanted, int mask) {
  const auto lock = lockWorld();
  if (World::get().fails("ibv_modify_qp")) return errno;
  auto& pair = static_cast<Pair&>(*modified);
  int error = 0;
  switch (wanted->qp_state) {
    case IBV_QPS_INIT:
      error = initialise(pair, *wanted, mask);
      break;
    case IBV_QPS_RTR:
      error = becomeReceiver(pair, *wanted, mask);
      break;
    case IBV_QPS_RTS:
      error = becomeSender(pair, *wanted, mask);
      break;
    case IBV_QPS_ERR:
      World::get().stop(pair);
      break;
    default:
      error = EINVAL;
  }
  if (error == 0) pair.state = wanted->qp_state;
  return error;
}

int ibv_destroy_qp(ibv_qp* freed) {
  const auto lock = lockWorld();
  auto* const pair = static_cast<Pair*>(freed);
  forgetCompletions(static_cast<Queue&>(*pair->send_cq), *pair);
  forgetCompletions(static_cast<Queue&>(*pair->recv_cq), *pair);
  --static_cast<Queue&>(*pair->send_cq).pairs;
  --static_cast<Queue&>(*pair->recv_cq).pairs;
  World::get().pairs.erase(pair->qp_num);
  count(static_cast<Domain&>(*pair->pd), -1);
  delete pair;
  return 0;
}

// Events and texts.

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return readWhole(context->async_fd, *event);
}

void ibv_ack_async_event(ibv_async_event* /*event*/) {}

const char* ibv_wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "success";
    case IBV_WC_LOC_PROT_ERR:
      return "local protection error";
    case IBV_WC_WR_FLUSH_ERR:
      return "Work Request Flushed Error";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote access error";
    case IBV_WC_REM_INV_REQ_ERR:
      return "remote invalid request error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "RNR retry counter exceeded";
    default:
      return "unknown";
  }
}

const char* ibv_event_type_str(ibv_event_type event) {
  switch (event) {
    case IBV_EVENT_PORT_ACTIVE:
      return "port active";
    case IBV_EVENT_PORT_ERR:
      return "port error";
    case IBV_EVENT_GID_CHANGE:
      return "GID table change";
    case IBV_EVENT_DEVICE_FATAL:
      return "local catastrophic error";
    default:
      return "unknown";
  }
}

// What tests ask.

void rondoVerbsFailCall(const char* symbol, int nth, int error) {
  const auto lock = lockWorld();
  World::get().failCall(symbol, nth, error);
}

void rondoVerbsFailRequest(int nth, ibv_wc_status status) {
  const auto lock = lockWorld();
  World::get().failRequest(nth, status);
}

int rondoVerbsObjects(void) {
  const auto lock = lockWorld();
  return World::get().objects;
}

int rondoVerbsRequests(const char* adapter) {
  const auto lock = lockWorld();
  const Adapter* const found = World::get().findAdapter(adapter);
  return found == nullptr ? -1 : found->requests.load();
}

void rondoVerbsCountReads(const void* begin, std::size_t bytes) {
  const auto lock = lockWorld();
  World::get().reads = {.begin = reinterpret_cast<std::uintptr_t>(begin), .bytes = bytes};
}

std::uint64_t rondoVerbsReadsInside(void) {
  const auto lock = lockWorld();
  return World::get().reads.inside;
}

std::uint64_t rondoVerbsReadsOutside(void) {
  const auto lock = lockWorld();
  return World::get().reads.outside;
}

int rondoVerbsRegions(void) {
  const auto lock = lockWorld();
  return static_cast<int>(World::get().regions.size());
}

void rondoVerbsSetPort(const char* adapter, int active) {
  const auto lock = lockWorld();
  Adapter* const found = World::get().findAdapter(adapter);
  found->active = active != 0;
  found->broken = false;
  World::get().raise(*found, active != 0 ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void rondoVerbsMoveGid(const char* adapter, int index, unsigned char lastByte) {
  const auto lock = lockWorld();
  Adapter* const found = World::get().findAdapter(adapter);
  found->gids[static_cast<std::size_t>(index)].bytes[15] = lastByte;
  World::get().raise(*found, IBV_EVENT_GID_CHANGE);
}

void rondoVerbsBreak(const char* adapter) {
  const auto lock = lockWorld();
  Adapter* const found = World::get().findAdapter(adapter);
  found->broken = true;
  World::get().raise(*found, IBV_EVENT_DEVICE_FATAL);
}

const char* rondoVerbsComplaints(void) {
  const auto lock = lockWorld();
  static std::string text;
  text = World::get().complaints;
  return text.c_str();
}
}
