#include "transports/tcp/send_link.h"

#include <cstring>
#include <span>
#include <utility>

#include "src/net/keepalive.h"
#include "src/net/socket.h"

namespace rondo::tcp {

SendLink::SendLink(int peer, FileDescriptor socket, std::shared_ptr<PrivateConnection> connection)
    : peer_(peer),
      socket_(std::move(socket)),
      name_(fmt::format("rank {}", peer)),
      connection_(std::move(connection)) {
  // Not more: a peer reads only while it is in a call, and may be late by any time.
  probeSilentHost(socket_.get());
}

Result<bool> SendLink::progress() {
  if (ended()) return false;
  Result<bool> credited = takeCredits();
  if (!credited.ok()) return credited;
  return sendSlots() || *credited;
}

Result<bool> SendLink::takeCredits() {
  bool moved = false;
  while (released() < sent_) {
    const auto rest = std::span(credit_).subspan(creditBytes_);
    const Result<std::size_t> received = recvSome(socket_.get(), rest, name_);
    if (!received.ok()) {
      whyEnded_ = received.status().message();
      return moved;
    }
    if (*received == 0) return moved;
    creditBytes_ += *received;
    if (creditBytes_ < credit_.size()) continue;
    creditBytes_ = 0;
    Credit credit;
    std::memcpy(&credit, credit_.data(), sizeof credit);
    if (const char* fault = faultOf(credit, released(), sent_)) {
      return Status::mismatch("rank {} does not keep to the protocol: {}", peer_, fault);
    }
    host::postCounter(connection_->control().head.value, credit.released);
    moved = true;
  }
  return moved;
}

bool SendLink::sendSlots() {
  bool moved = false;
  while (!ended() && sent_ < posted()) {
    const SlotEntry& entry = connection_->entry(sent_);
    const SlotHeader header{static_cast<std::uint32_t>(entry.bytes), kSlot, entry.call};
    if (!sendMore(header)) return moved;
    moved = true;
    if (sentBytes_ < sizeof header + header.bytes) continue;
    sentBytes_ = 0;
    ++sent_;
  }
  return moved;
}

/// Sends what follows the first sentBytes_ of the next slot; false if nothing could be sent.
bool SendLink::sendMore(const SlotHeader& header) {
  const auto head = std::as_bytes(std::span(&header, 1));
  const std::span<const std::byte> payload(connection_->slot(sent_), header.bytes);
  const std::size_t ofHead = std::min(sentBytes_, head.size());
  const Result<std::size_t> sent =
      sendPieces(socket_.get(), head.subspan(ofHead), payload.subspan(sentBytes_ - ofHead), name_);
  if (!sent.ok()) whyEnded_ = sent.status().message();
  if (!sent.ok() || *sent == 0) return false;
  sentBytes_ += *sent;
  return true;
}

void SendLink::close() {
  if (!ended() && sentBytes_ == 0) {
    const SlotHeader goodbye{0, kGoodbye, 0};
    // So little always fits, unless the peer has stopped reading; then it learns by the end.
    (void)sendSome(socket_.get(), std::as_bytes(std::span(&goodbye, 1)), name_);
  }
  socket_.reset();
  if (!ended()) whyEnded_ = "closed";
}

}  // namespace rondo::tcp
