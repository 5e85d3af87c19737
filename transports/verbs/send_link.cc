#include "transports/verbs/send_link.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <arpa/inet.h>

namespace rondo::verbs {

void SendLink::tell() {
  const Status told = attached() ? tellEndpoint() : tellDetour();
  if (!told.ok()) end(std::string(told.message()));
}

Result<bool> SendLink::progress(bool look) {
  if (detour_) return detour_->progress();
  if (ended()) return false;
  if (look) RONDO_RETURN_IF_ERROR(readMessages());
  if (detour_) return true;
  Result<bool> completed = takeCompletions();
  RONDO_RETURN_IF_ERROR(completed.status());
  RONDO_RETURN_IF_ERROR(explainFailure());
  if (ended() || !connected() || failing()) return completed;
  const Result<bool> posted = postSlots();
  RONDO_RETURN_IF_ERROR(posted.status());
  return *posted || *completed;
}

Status SendLink::readMessages() {
  for (;;) {
    const Result<std::optional<Frame>> message = nextMessage();
    if (!message.ok()) {
      // The last credits may have come before.
      RONDO_RETURN_IF_ERROR(takeCompletions().status());
      end(std::string(message.status().message()));
      return {};
    }
    if (!message->has_value()) return {};
    RONDO_RETURN_IF_ERROR(onMessage(**message));
    if (ended() || detour_) return {};
  }
}

Status SendLink::onMessage(const Frame& frame) {
  const auto isFirst = [&](WireMessage type) {
    return frame.type == static_cast<std::uint16_t>(type) && !connected();
  };
  if (isFirst(WireMessage::kEndpoint) && attached()) return connectTo(frame);
  if (isFirst(WireMessage::kDetour)) {
    const Status told = tellDetour();
    if (told.ok()) {
      detour_.emplace(peer(), giveSocket(), parts_.connection);
    } else {
      end(std::string(told.message()));
    }
    return {};
  }
  if (frame.type != static_cast<std::uint16_t>(WireMessage::kGoodbye)) {
    return brokenProtocol("its message has no place here");
  }
  const Result<std::uint64_t> released = readGoodbye(frame);
  if (!released.ok()) return brokenProtocol(released.status().message());
  RONDO_RETURN_IF_ERROR(takeCompletions().status());
  RONDO_RETURN_IF_ERROR(takeCredit(*released));
  end("it has left");
  return {};
}

/// What a queue pair fails of may be the peer's end: then its socket has told, as adapters need
/// seconds to give up.
Status SendLink::explainFailure() {
  if (!failureIsKnown()) return {};
  RONDO_RETURN_IF_ERROR(readMessages());
  return ended() ? Status() : Status::systemError("{}", describeFailure());
}

Result<bool> SendLink::takeCompletions() {
  return takeEach([this](const ibv_wc& completion) { return onCompletion(completion); });
}

Status SendLink::onCompletion(const ibv_wc& completion) {
  if (completion.opcode == IBV_WC_RDMA_WRITE) {
    ++completed_;  // only headers report, one for each slot
    release(std::min(credit_, completed_));
    return {};
  }
  if (completion.opcode != IBV_WC_RECV || (completion.wc_flags & IBV_WC_WITH_IMM) == 0) {
    return brokenProtocol("its message is no credit");
  }
  RONDO_RETURN_IF_ERROR(takeCredit(widen(ntohl(completion.imm_data), credit_)));
  return postReceive();
}

Status SendLink::takeCredit(std::uint64_t credit) {
  if (credit < credit_) return brokenProtocol("it takes back slots that it has released");
  if (credit > sent_) return brokenProtocol("it releases slots that were never sent");
  credit_ = credit;
  release(std::min(credit_, completed_));
  return {};
}

/// A payload may be in a buffer, which the program may change, or take from the adapter, once its
/// slot is released: so that is when the adapter has read it, too.
void SendLink::release(std::uint64_t count) {
  if (count > released()) host::postCounter(parts_.connection->control().head.value, count);
}

/// The peer may have fewer slots than this end. What the adapter has not reported yet still takes
/// its room, and counts as not released.
Result<bool> SendLink::postSlots() {
  bool moved = false;
  const std::uint64_t most = std::min(peerEnd_.slots, parts_.connection->slotCount());
  while (sent_ < filled() && sent_ - released() < most) {
    RONDO_RETURN_IF_ERROR(postSlot(sent_));
    ++sent_;
    moved = true;
  }
  return moved;
}

Status SendLink::postSlot(std::uint64_t number) {
  const SlotEntry& entry = parts_.connection->entry(number);
  if (entry.isElsewhere()) lastFromBuffer_ = number + 1;
  RONDO_RETURN_IF_ERROR(postPayload(number, entry.payloadBytes()));
  SlotEntry* const own = header(number);
  *own = {entry.payloadBytes(), entry.call};
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(own),
                .length = sizeof *own,
                .lkey = parts_.memory->lkey};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = htonl(static_cast<std::uint32_t>(number));
  request.wr.rdma.remote_addr =
      peerEnd_.headersAddress + number % peerEnd_.slots * sizeof(SlotEntry);
  request.wr.rdma.rkey = peerEnd_.key;
  return post(request, piece);
}

/// Not before the ends are connected: until then they may have to take a detour, and that is from
/// slots.
std::optional<SlotPlace> SendLink::nameOf(const std::byte* data, std::size_t bytes) {
  if (parts_.buffers == nullptr || !connected() || !attached() || detour_) return std::nullopt;
  const auto key = parts_.buffers->keyOf(parts_.pair->port().device(), data, bytes);
  if (!key.has_value()) return std::nullopt;
  return SlotPlace{*key, reinterpret_cast<std::uintptr_t>(data)};
}

SendLink::Payload SendLink::payloadOf(std::uint64_t number) const {
  PrivateConnection& connection = *parts_.connection;
  if (connection.entry(number).isElsewhere()) {
    const SlotPlace& place = connection.control().places[number % connection.slotCount()];
    return {static_cast<std::uintptr_t>(place.offset), static_cast<std::uint32_t>(place.region)};
  }
  return {reinterpret_cast<std::uintptr_t>(connection.slot(number)), parts_.memory->lkey};
}

Status SendLink::postPayload(std::uint64_t number, std::uint64_t bytes) {
  const Payload payload = payloadOf(number);
  const std::uint64_t most = parts_.pair->port().mostBytes();
  const std::uint64_t to =
      peerEnd_.slotsAddress + number % peerEnd_.slots * parts_.connection->slotBytes();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t length = most == 0 ? bytes : std::min(bytes - done, most);
    ibv_sge piece{.addr = payload.address + done,
                  .length = static_cast<std::uint32_t>(length),
                  .lkey = payload.key};
    ibv_send_wr request{};
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = to + done;
    request.wr.rdma.rkey = peerEnd_.key;
    RONDO_RETURN_IF_ERROR(post(request, piece));
    done += length;
  }
  return {};
}

void SendLink::awaitWrites(Deadline deadline) {
  while (!detour_ && !ended() && !failing() && completed_ < sent_ && !deadline.passed()) {
    if (!takeCompletions().ok()) return;
    std::this_thread::yield();
  }
}

/// The operation has failed, and with it the communicator: the program may have its buffers back
/// now, and whatever the peer gets from them later must not look like what was sent. The socket
/// remains, so that the peer learns of the failure by the control plane, and not of a loss.
void SendLink::withdraw() {
  (void)takeCompletions();
  if (sent_ == filled() && completed_ >= lastFromBuffer_) return;
  stopAdapter();
  if (gone_.empty()) gone_ = "an operation of this rank has failed while it sent from its buffers";
}

void SendLink::finishReading() {
  if (attached() && completed_ < lastFromBuffer_) withdraw();
}

void SendLink::close() {
  if (detour_) return detour_->close();
  sayGoodbye(sent_);
  end("closed");
}

void SendLink::end(std::string why) {
  if (ended()) return;  // the first cause counts
  gone_ = std::move(why);
  // What the peer has taken it has, though the adapter may never hear so.
  release(credit_);
  closeSocket();
}

}  // namespace rondo::verbs
