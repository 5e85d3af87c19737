#include "tests/verbs/verbs_double/world.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <pthread.h>
#include <unistd.h>

namespace rondo::testing {

namespace {

constexpr std::uint32_t kNumberMask = 0xffffff;

/// Of the thread, while something is under way that nobody will tell it of.
constexpr std::chrono::microseconds kTick{100};

World* theWorld = nullptr;  // NOLINT: never destroyed, replaced in a forked child
std::mutex theWorldMutex;   // NOLINT

void forgetWorld() {
  // The parent's thread and sockets are not the child's. The mutex may be held by a thread that is
  // not here.
  new (&theWorldMutex) std::mutex;
  theWorld = nullptr;
}

std::uint64_t endOf(std::uint64_t address, std::uint64_t bytes) {
  return address + bytes;
}

ibv_wc_opcode completionOf(ibv_wr_opcode request) {
  const bool write = request == IBV_WR_RDMA_WRITE || request == IBV_WR_RDMA_WRITE_WITH_IMM;
  return write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
}

bool hasImmediate(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_SEND_WITH_IMM;
}

GidBytes destinationOf(const ibv_ah_attr& path) {
  GidBytes gid{};
  std::memcpy(gid.data(), path.grh.dgid.raw, gid.size());
  return gid;
}

ibv_wc_status failureOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoReceive:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case Verdict::kForbidden:
      return IBV_WC_REM_ACCESS_ERR;
    default:
      return IBV_WC_REM_INV_REQ_ERR;
  }
}

}  // namespace

World& World::get() {
  const std::scoped_lock lock(theWorldMutex);
  if (theWorld == nullptr) {
    [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, forgetWorld);
    theWorld = new World;
  }
  return *theWorld;
}

World::World() : adapters(adaptersFromEnvironment()), peers_(*this) {
  const char* const failing = std::getenv("RONDOTEST_VERBS_FAIL");
  if (failing == nullptr) return;
  char symbol[64] = {};
  int nth = 0;
  int error = 0;
  if (std::sscanf(failing, "%63[^:]:%d:%d", symbol, &nth, &error) == 3) {
    failCall(symbol, nth, error);
  }
}

bool World::fails(const char* symbol) {
  if (failing_ != symbol) return false;
  if (failsIn_ > 0 && --failsIn_ > 0) return false;
  const bool always = failsIn_ == 0 && failure_ < 0;
  errno = std::abs(failure_);
  if (!always) failing_.clear();
  return true;
}

void World::failCall(const char* symbol, int nth, int error) {
  failing_ = symbol == nullptr ? "" : symbol;
  failsIn_ = nth;
  failure_ = nth == 0 ? -error : error;
}

void World::complain(std::string_view what) {
  complaints += complaints.empty() ? "" : "; ";
  complaints += what;
}

bool World::isToBeRead(const Region& region) const {
  return std::ranges::any_of(pairs, [&region](const auto& entry) {
    return std::ranges::any_of(entry.second->requests, [&region](const Request& request) {
      return request.wr.num_sge > 0 && !request.isInline && request.piece.lkey == region.lkey;
    });
  });
}

void World::countRead(const Request& request) {
  if (request.wr.opcode != IBV_WR_RDMA_WRITE) return;
  const std::uint64_t offset = request.piece.addr - reads.begin;
  (offset < reads.bytes ? reads.inside : reads.outside) += request.piece.length;
}

std::uint32_t World::newPairNumber() {
  constexpr std::uint32_t kMask = (1U << PeerProcesses::kPairBits) - 1;
  for (std::uint32_t tried = 0; tried <= kMask; ++tried) {
    nextPair_ = (nextPair_ + 1) & kMask;
    const std::uint32_t number = (peers_.own() << PeerProcesses::kPairBits) | nextPair_;
    if (!pairs.contains(number)) return number;
  }
  return 0;
}

Adapter* World::findAdapter(std::string_view name) {
  const auto found =
      std::ranges::find_if(adapters, [name](const auto& adapter) { return adapter->name == name; });
  return found == adapters.end() ? nullptr : found->get();
}

Clock::time_point World::late() {
  if (delayMicros_ == 0) return {};
  const auto delay = static_cast<int>(random_() % static_cast<unsigned>(delayMicros_));
  return Clock::now() + std::chrono::microseconds(delay);
}

const Region* World::findRegion(std::uint32_t key,
                                std::uint64_t address,
                                std::uint64_t bytes,
                                int access) const {
  const auto found = regions.find(key);
  if (found == regions.end()) return nullptr;
  const Region& region = *found->second;
  const auto begin = reinterpret_cast<std::uintptr_t>(region.addr);
  const bool inside = address >= begin && bytes <= region.length &&
                      endOf(address, bytes) <= endOf(begin, region.length);
  return inside && (region.access & access) == access ? &region : nullptr;
}

// Sending.

void World::advance(Pair& pair) {
  const Clock::time_point now = Clock::now();
  for (std::size_t at = 0; at < pair.requests.size();) {
    if (pair.state != IBV_QPS_RTS || now < pair.retryAt) return;
    Request& request = pair.requests[at];
    if (request.launched) {
      ++at;
      continue;
    }
    if (request.due > now) return;
    const std::size_t before = pair.requests.size();
    if (!launch(pair, request)) return;
    if (pair.requests.size() == before) ++at;  // its verdict comes later
  }
}

/// Whether what the pair sends gets lost before it reaches anybody.
bool World::leadsNowhere(const Pair& pair) const {
  const Adapter& adapter = *pair.adapter;
  const ibv_ah_attr& path = pair.attributes.ah_attr;
  const bool silent = adapter.silentAfter >= 0 && adapter.requests >= adapter.silentAfter;
  return !adapter.active || adapter.broken || silent ||
         (apart && !adapter.isAt(path.is_global != 0, destinationOf(path), path.dlid));
}

/// @return false if nothing more can be launched now.
bool World::launch(Pair& pair, Request& request) {
  if (requestFailsIn_ > 0 && --requestFailsIn_ == 0) {
    completeFirst(pair, requestFailure_);
    return false;
  }
  if (leadsNowhere(pair)) {
    onNoAnswer(pair);
    return false;
  }
  const ibv_send_wr& wr = request.wr;
  const std::uint32_t bytes = wr.num_sge == 0 ? 0 : request.piece.length;
  if (bytes > 0 && !request.isInline &&
      findRegion(request.piece.lkey, request.piece.addr, bytes, 0) == nullptr) {
    completeFirst(pair, IBV_WC_LOC_PROT_ERR);
    return false;
  }
  const ibv_ah_attr& path = pair.attributes.ah_attr;
  Packet packet;
  packet.to = pair.attributes.dest_qp_num;
  packet.from = pair.qp_num;
  packet.number = request.number;
  packet.gid = destinationOf(path);
  packet.lid = path.dlid;
  packet.global = path.is_global != 0;
  packet.write = completionOf(wr.opcode) == IBV_WC_RDMA_WRITE;
  packet.withImmediate = hasImmediate(wr.opcode);
  packet.immediate = wr.imm_data;
  packet.key = wr.wr.rdma.rkey;
  packet.address = wr.wr.rdma.remote_addr;
  packet.bytes = bytes;
  const std::byte* const payload = request.isInline
                                       ? request.inlined.data()
                                       : reinterpret_cast<const std::byte*>(request.piece.addr);
  request.launched = true;
  if (bytes > 0) countRead(request);
  ++pair.adapter->requests;
  if (packet.to >> PeerProcesses::kPairBits == peers_.own()) {
    onVerdict(pair.qp_num, packet.number, deliver(packet, payload));
  } else if (!peers_.send(packet, payload)) {
    onNoAnswer(pair);
    return false;
  }
  return true;
}

void World::onVerdict(std::uint32_t number, std::uint32_t packet, Verdict verdict) {
  const auto found = pairs.find(number);
  if (found == pairs.end()) return;
  Pair& pair = *found->second;
  const bool expected = !pair.requests.empty() && pair.requests.front().launched &&
                        pair.requests.front().number == packet;
  if (!expected) return;  // of a packet that was repeated meanwhile
  if (verdict == Verdict::kDone) {
    pair.retriesLeft = pair.attributes.retry_cnt;
    completeFirst(pair, IBV_WC_SUCCESS);
  } else if (verdict == Verdict::kNoAnswer) {
    onNoAnswer(pair);
  } else {
    if (verdict == Verdict::kNoReceive) complain("a message found no receive posted");
    completeFirst(pair, failureOf(verdict));
  }
}

void World::onNoAnswer(Pair& pair) {
  if (pair.retriesLeft-- == 0) {
    completeFirst(pair, IBV_WC_RETRY_EXC_ERR);
    return;
  }
  for (Request& request : pair.requests)
    request.launched = false;
  const auto pause = std::chrono::nanoseconds(4096LL << pair.attributes.timeout);
  pair.retryAt = Clock::now() + pause;
  wake();
}

void World::completeFirst(Pair& pair, ibv_wc_status status) {
  if (pair.requests.empty()) return;
  const Request request = std::move(pair.requests.front());
  pair.requests.pop_front();
  ++pair.unreported;
  const bool signalled = pair.reportsAll || (request.wr.send_flags & IBV_SEND_SIGNALED) != 0;
  if (signalled || status != IBV_WC_SUCCESS) {
    Completion completion;
    completion.wc.wr_id = request.wr.wr_id;
    completion.wc.status = status;
    completion.wc.opcode = completionOf(request.wr.opcode);
    completion.wc.qp_num = pair.qp_num;
    completion.pair = &pair;
    completion.retires = std::exchange(pair.unreported, 0);
    push(static_cast<Queue&>(*pair.send_cq), completion);
  }
  if (status != IBV_WC_SUCCESS && pair.state != IBV_QPS_ERR) stop(pair);
}

void World::stop(Pair& pair) {
  pair.state = IBV_QPS_ERR;
  while (!pair.requests.empty())
    completeFirst(pair, IBV_WC_WR_FLUSH_ERR);
  for (; !pair.receives.empty(); pair.receives.pop_front()) {
    Completion completion;
    completion.wc.wr_id = pair.receives.front().id;
    completion.wc.status = IBV_WC_WR_FLUSH_ERR;
    completion.wc.qp_num = pair.qp_num;
    completion.pair = &pair;
    push(static_cast<Queue&>(*pair.recv_cq), completion);
  }
}

// Receiving.

Verdict World::deliver(const Packet& packet, const std::byte* payload) {
  const auto found = pairs.find(packet.to);
  if (found == pairs.end()) return Verdict::kNoAnswer;
  Pair& pair = *found->second;
  const bool listens = (pair.state == IBV_QPS_RTR || pair.state == IBV_QPS_RTS) &&
                       pair.attributes.dest_qp_num == packet.from &&
                       packet.number == pair.expectedNumber;
  const Adapter& adapter = *pair.adapter;
  const bool reached =
      adapter.active && !adapter.broken && adapter.isAt(packet.global, packet.gid, packet.lid);
  if (!listens || !reached) return Verdict::kNoAnswer;
  const Verdict verdict = receive(pair, packet, payload);
  if (verdict == Verdict::kDone) {
    pair.expectedNumber = (pair.expectedNumber + 1) & kNumberMask;
  } else if (verdict != Verdict::kNoReceive) {
    stop(pair);
  }
  return verdict;
}

Verdict World::receive(Pair& pair, const Packet& packet, const std::byte* payload) {
  const bool takesReceive = packet.withImmediate || !packet.write;
  if (takesReceive && pair.receives.empty()) return Verdict::kNoReceive;
  std::uint64_t to = packet.address;
  if (packet.write && packet.bytes > 0) {
    const bool allowed = (pair.attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0;
    if (!allowed || findRegion(packet.key, to, packet.bytes, IBV_ACCESS_REMOTE_WRITE) == nullptr) {
      return Verdict::kForbidden;
    }
  } else if (!packet.write && packet.bytes > 0) {
    const ibv_sge& piece = pair.receives.front().piece;
    to = piece.addr;
    if (packet.bytes > piece.length) return Verdict::kTooLong;
    if (findRegion(piece.lkey, to, packet.bytes, IBV_ACCESS_LOCAL_WRITE) == nullptr) {
      return Verdict::kTooLong;
    }
  }
  if (packet.bytes > 0) std::memcpy(reinterpret_cast<void*>(to), payload, packet.bytes);
  if (!takesReceive) return Verdict::kDone;
  Completion completion;
  completion.wc.wr_id = pair.receives.front().id;
  completion.wc.opcode = packet.write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  completion.wc.byte_len = packet.bytes;
  completion.wc.qp_num = pair.qp_num;
  if (packet.withImmediate) {
    completion.wc.wc_flags = IBV_WC_WITH_IMM;
    completion.wc.imm_data = packet.immediate;
  }
  completion.pair = &pair;
  pair.receives.pop_front();
  push(static_cast<Queue&>(*pair.recv_cq), completion);
  return Verdict::kDone;
}

// Completions and events.

void World::push(Queue& queue, const Completion& completion) {
  if (queue.completions.size() == static_cast<std::size_t>(queue.cqe)) {
    complain("a completion queue has overrun");
    return;
  }
  queue.completions.push_back(completion);
  Completion& pushed = queue.completions.back();
  pushed.visible = late();
  if (queue.completions.size() > 1) {
    pushed.visible = std::max(pushed.visible, (queue.completions.end() - 2)->visible);
  }
  queue.count.store(queue.completions.size(), std::memory_order_release);
  report(queue);
}

void World::report(Queue& queue) {
  if (!queue.armed || queue.completions.empty()) return;
  // Only what comes after the request for a report counts; but what was there then was polled.
  if (queue.completions.back().visible > Clock::now()) {
    wake();
    return;
  }
  queue.armed = false;
  Queue* const pointer = &queue;
  const int end = static_cast<Channel*>(queue.channel)->writeEnd;
  if (::write(end, &pointer, sizeof pointer) != sizeof pointer) complain("a channel is full");
}

void World::raise(const Adapter& adapter, ibv_event_type type) {
  for (OpenAdapter* const context : contexts) {
    if (context->adapter != &adapter) continue;
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = type == IBV_EVENT_DEVICE_FATAL ? 0 : 1;
    if (::write(context->asyncEnd, &event, sizeof event) != sizeof event) {
      complain("nobody reads the events of an adapter");
    }
  }
}

Clock::time_point World::tick() {
  bool busy = false;
  for (const auto& [number, pair] : pairs) {
    advance(*pair);
    busy = busy || (!pair->requests.empty() && !pair->requests.front().launched);
  }
  for (Queue* const queue : queues) {
    report(*queue);
    busy = busy || (queue->armed && !queue->completions.empty());
  }
  return busy ? Clock::now() + kTick : Clock::time_point::max();
}

}  // namespace rondo::testing
