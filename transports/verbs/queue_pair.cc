#include "transports/verbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "src/net/errno_text.h"

namespace rondo::verbs {

namespace {

/// Enough for a header, and for payloads that are sooner copied than fetched; devices have 64 to
/// 1024 bytes.
constexpr std::uint32_t kInlineBytes = 128;

/// Until an adapter asks again whether a receive was posted, 0.64 ms, and how often. Receives are
/// always posted in time; these are for a peer that is broken.
constexpr std::uint8_t kReceiverPause = 12;
constexpr std::uint8_t kReceiverRetries = 6;

/// Soft-RoCE takes 7 for without end (rxe_comp.c of Linux 6.12), and would never report a path that
/// is silent.
constexpr std::uint8_t kMostSoftRetries = 6;

/// A packet of a connection that had this number before is not taken for one of this.
std::uint32_t randomPacketNumber() {
  constexpr std::uint32_t kMask = 0xffffff;
  return static_cast<std::uint32_t>(std::random_device{}()) & kMask;
}

}  // namespace

QueuePair::QueuePair(PortChoice place, const Settings& settings)
    : place_(std::move(place)),
      settings_(settings),
      firstPacket_(randomPacketNumber()),
      queue_(nullptr, library().destroyQueue),
      pair_(nullptr, library().destroyQueuePair) {}

Result<std::unique_ptr<QueuePair>> QueuePair::make(PortChoice place,
                                                   QueueDepths depths,
                                                   bool peerWrites,
                                                   const Settings& settings) {
  std::unique_ptr<QueuePair> made(new QueuePair(std::move(place), settings));
  RONDO_RETURN_IF_ERROR(made->create(depths));
  RONDO_RETURN_IF_ERROR(made->initialise(peerWrites));
  for (std::uint32_t posted = 0; posted < depths.receives; ++posted)
    RONDO_RETURN_IF_ERROR(made->postReceive());
  return made;
}

Status QueuePair::create(QueueDepths depths) {
  Device& device = port().device();
  const int entries = static_cast<int>(depths.sends + depths.receives);
  errno = 0;
  queue_.reset(
      library().createQueue(device.context(), entries, this, device.channel(), /*vector=*/0));
  if (queue_ == nullptr) {
    return Status::systemError("{} gives no completion queue of {} entries: {}", port().name(),
                               entries, verbsErrorText(errno));
  }
  ibv_qp_init_attr wanted{};
  wanted.send_cq = queue_.get();
  wanted.recv_cq = queue_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {.max_send_wr = depths.sends,
                .max_recv_wr = depths.receives,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = kInlineBytes};
  pair_.reset(library().createQueuePair(device.domain(), &wanted));
  if (pair_ == nullptr) {
    wanted.cap.max_inline_data = 0;  // not every device has it
    pair_.reset(library().createQueuePair(device.domain(), &wanted));
  }
  if (pair_ == nullptr) {
    return Status::systemError("{} gives no queue pair: {}", port().name(), verbsErrorText(errno));
  }
  inlineBytes_ = wanted.cap.max_inline_data;
  return {};
}

Status QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = library().modifyQueuePair(pair_.get(), &attributes, mask | IBV_QP_STATE);
  if (error == 0) return {};
  const bool noWay = error == ETIMEDOUT || error == ENETUNREACH || error == EHOSTUNREACH;
  return Status::systemError(
      "a queue pair of {} does not become {}: {}{}", port().name(), state, verbsErrorText(error),
      noWay ? "; the host knows no way to the peer's address: see ip route and ip neighbour, or "
              "choose other adapters by RONDO_IB_DEVICES"
            : "");
}

Status QueuePair::initialise(bool peerWrites) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port().number();
  attributes.qp_access_flags = peerWrites ? IBV_ACCESS_REMOTE_WRITE : 0;
  return modify(attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "initialised");
}

Endpoint QueuePair::endpoint() const {
  Endpoint endpoint;
  endpoint.queuePair = pair_->qp_num;
  endpoint.firstPacket = firstPacket_;
  endpoint.lid = port().lid();
  endpoint.gid = port().gids()[place_.gid].gid;
  endpoint.mtu = port().mtu();
  return endpoint;
}

Status QueuePair::connect(const Endpoint& peer) {
  RONDO_RETURN_IF_ERROR(readyToReceive(peer));
  return readyToSend();
}

Status QueuePair::readyToReceive(const Endpoint& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(port().mtu(), static_cast<ibv_mtu>(peer.mtu));
  attributes.dest_qp_num = peer.queuePair;
  attributes.rq_psn = peer.firstPacket;
  attributes.max_dest_rd_atomic = 0;  // nobody reads
  attributes.min_rnr_timer = kReceiverPause;
  ibv_ah_attr& path = attributes.ah_attr;
  path.port_num = port().number();
  path.sl = settings_.serviceLevel;
  path.dlid = static_cast<std::uint16_t>(peer.lid);
  if (port().needsGlobal()) {
    path.is_global = 1;
    std::memcpy(path.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    path.grh.sgid_index = static_cast<std::uint8_t>(port().gids()[place_.gid].index);
    path.grh.hop_limit = 64;
    path.grh.traffic_class = settings_.trafficClass;
  }
  return modify(attributes,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                "ready to receive");
}

Status QueuePair::readyToSend() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = settings_.timeout;
  attributes.retry_cnt = port().device().emulated() ? std::min(settings_.retries, kMostSoftRetries)
                                                    : settings_.retries;
  attributes.rnr_retry = kReceiverRetries;
  attributes.sq_psn = firstPacket_;
  attributes.max_rd_atomic = 0;
  return modify(attributes,
                IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                    IBV_QP_MAX_QP_RD_ATOMIC,
                "ready to send");
}

Status QueuePair::send(ibv_send_wr& request, ibv_sge& piece) {
  request.sg_list = &piece;
  request.num_sge = piece.length == 0 ? 0 : 1;
  if (piece.length <= inlineBytes_ && piece.length > 0) request.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_.get(), &request, &refused);
  if (error == 0) return {};
  return Status::systemError("{} takes no request to send: {}", port().name(),
                             verbsErrorText(error));
}

Status QueuePair::postReceive() {
  ibv_recv_wr request{};
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(pair_.get(), &request, &refused);
  if (error == 0) return {};
  return Status::systemError("{} takes no request to receive: {}", port().name(),
                             verbsErrorText(error));
}

const ibv_wc* QueuePair::nextCompletion() {
  if (next_ == count_ && !fill()) return nullptr;
  return &completions_[static_cast<std::size_t>(next_++)];
}

bool QueuePair::fill() {
  next_ = 0;
  count_ = std::max(
      0, ibv_poll_cq(queue_.get(), static_cast<int>(completions_.size()), completions_.data()));
  return count_ > 0;
}

bool QueuePair::prepareSleep() {
  if (!reporting_ && ibv_req_notify_cq(queue_.get(), 0) == 0) reporting_ = true;
  // What came before the request is not reported.
  return next_ == count_ && !fill();
}

void QueuePair::takeReports(Device& device) {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  while (device.library().getQueueEvent(device.channel(), &queue, &user) == 0) {
    // At once: a queue cannot be destroyed before.
    device.library().acknowledgeQueueEvents(queue, 1);
    static_cast<QueuePair*>(user)->reporting_ = false;
  }
}

}  // namespace rondo::verbs
