#include "transports/verbs/recv_link.h"

#include <utility>

#include <arpa/inet.h>

namespace rondo::verbs {

namespace {

/// A goodbye comes by another way than the slots before it, which were acknowledged by then.
constexpr std::chrono::milliseconds kLastSlots{1000};

}  // namespace

Result<bool> RecvLink::progress(bool look) {
  if (detour_) return detour_->progress();
  if (ended_) return false;
  if (look) RONDO_RETURN_IF_ERROR(readMessages());
  if (detour_) return true;
  if (ended_ || !connected()) return false;
  Result<bool> moved = takeCompletions();
  RONDO_RETURN_IF_ERROR(moved.status());
  RONDO_RETURN_IF_ERROR(explainFailure());
  if (ended_ || endIfAllCame() || failing()) return moved;
  const Result<bool> credited = sendCredit();
  RONDO_RETURN_IF_ERROR(credited.status());
  return *moved || *credited;
}

Status RecvLink::readMessages() {
  for (;;) {
    const Result<std::optional<Frame>> message = nextMessage();
    if (!message.ok()) {
      closeSocket();
      if (last_) return {};
      // What it had sent before is here already: it was acknowledged before the process ended.
      RONDO_RETURN_IF_ERROR(takeCompletions().status());
      end(std::string(message.status().message()));
      return {};
    }
    if (!message->has_value()) return {};
    RONDO_RETURN_IF_ERROR(onMessage(**message));
    if (detour_) return {};
  }
}

Status RecvLink::onMessage(const Frame& frame) {
  const auto is = [&](WireMessage type) {
    return frame.type == static_cast<std::uint16_t>(type) && !connected();
  };
  const bool describesEnd = is(WireMessage::kEndpoint) && !detourDue_;
  if (is(WireMessage::kDetour)) {
    detourDue_ ? takeDetour() : offerDetour();
    return {};
  }
  if (describesEnd && !attached()) {
    offerDetour();
    return {};
  }
  if (describesEnd) {
    RONDO_RETURN_IF_ERROR(connectTo(frame));
    // Only now: the peer sends as soon as it knows this end.
    const Status told = tellEndpoint();
    if (!told.ok()) end(std::string(told.message()));
    return {};
  }
  if (frame.type != static_cast<std::uint16_t>(WireMessage::kGoodbye)) {
    return brokenProtocol("its message has no place here");
  }
  const Result<std::uint64_t> sent = readGoodbye(frame);
  if (!sent.ok()) return brokenProtocol(sent.status().message());
  last_ = *sent;
  lastDue_ = Deadline::within(kLastSlots);
  return {};
}

/// The sender goes on as tcp does only after its last word about it: before, it may say goodbye.
void RecvLink::offerDetour() {
  detourDue_ = true;
  const Status told = tellDetour();
  if (!told.ok()) end(std::string(told.message()));
}

void RecvLink::takeDetour() {
  detour_.emplace(peer(), parts_.connection);
  detour_->adopt(giveSocket(), peerSlots_);
}

/// What a queue pair fails of may be the peer's end: then its socket has told, as adapters need
/// seconds to give up.
Status RecvLink::explainFailure() {
  if (!failureIsKnown()) return {};
  RONDO_RETURN_IF_ERROR(readMessages());
  if (ended_ || endIfAllCame()) return {};
  if (!last_) return Status::systemError("{}", describeFailure());
  end(describeFailure());
  return {};
}

Result<bool> RecvLink::takeCompletions() {
  return takeEach([this](const ibv_wc& completion) { return onCompletion(completion); });
}

Status RecvLink::onCompletion(const ibv_wc& completion) {
  if (completion.opcode == IBV_WC_SEND) {
    --creditsUnderWay_;
    return {};
  }
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
    return brokenProtocol("its message is no slot");
  }
  // Before the slot is released, and so before the peer can send what needs this receive.
  RONDO_RETURN_IF_ERROR(postReceive());
  return onSlot(ntohl(completion.imm_data));
}

/// The header's completion is the proof that payload and header are there: a queue pair delivers in
/// order, and a completion comes after all that came before it. No byte of memory is looked at
/// before.
Status RecvLink::onSlot(std::uint32_t number) {
  const std::uint64_t expected = arrived();
  if (number != static_cast<std::uint32_t>(expected)) {
    return brokenProtocol("its slots come out of order");
  }
  if (!hasRoom()) return brokenProtocol("it sends more slots than there are");
  const SlotEntry entry = *header(expected);  // a copy: the peer can write there at any time
  if (entry.bytes > parts_.connection->slotBytes()) {
    return brokenProtocol("its slot is longer than slots are");
  }
  parts_.connection->entry(expected) = entry;
  host::postCounter(parts_.connection->control().tail.value, expected + 1);
  return {};
}

/// A credit is a total, so several are one if the adapter is behind. Each stands for one slot at
/// least, of which there are as many as the peer has receives for.
Result<bool> RecvLink::sendCredit() {
  const std::uint64_t total = released();
  if (total == credited_ || creditsUnderWay_ == parts_.connection->slotCount()) return false;
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = htonl(static_cast<std::uint32_t>(total));
  ibv_sge nothing{};
  RONDO_RETURN_IF_ERROR(post(request, nothing));
  credited_ = total;
  ++creditsUnderWay_;
  return true;
}

bool RecvLink::endIfAllCame() {
  if (!last_) return false;
  if (arrived() >= *last_) {
    end({});
  } else if (lastDue_.passed()) {
    end(fmt::format("it has left, and its last {} slots did not come", *last_ - arrived()));
  }
  return ended_;
}

void RecvLink::close() {
  if (detour_) return detour_->close();
  // The peer may take what comes for tcp's already.
  if (!detourDue_) sayGoodbye(released());
  end({});
}

void RecvLink::end(std::string why) {
  if (ended_) return;  // the first cause counts
  ended_ = true;
  whyLost_ = std::move(why);
  closeSocket();
}

}  // namespace rondo::verbs
