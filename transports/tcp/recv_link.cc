#include "transports/tcp/recv_link.h"

#include <cstring>
#include <span>
#include <utility>

#include "src/net/keepalive.h"
#include "src/net/socket.h"

namespace rondo::tcp {

RecvLink::RecvLink(int peer, std::shared_ptr<PrivateConnection> connection)
    : peer_(peer), name_(fmt::format("rank {}", peer)), connection_(std::move(connection)) {}

void RecvLink::adopt(FileDescriptor socket, std::uint32_t peerSlots) {
  socket_ = std::move(socket);
  peerSlots_ = peerSlots;
  // Not more: a peer reads only while it is in a call, and may be late by any time.
  probeSilentHost(socket_.get());
  connected_ = true;
}

Result<bool> RecvLink::progress() {
  if (!socket_.valid()) return false;
  const bool credited = sendCredit();
  Result<bool> moved = takeSlots();
  if (!moved.ok()) return moved;
  return *moved || credited;
}

Result<bool> RecvLink::takeSlots() {
  bool moved = false;
  while (socket_.valid() && hasRoom()) {
    const Result<std::size_t> received = recvSome(socket_.get(), place(), name_);
    if (!received.ok()) end(std::string(received.status().message()));
    if (!received.ok() || *received == 0) return moved;
    moved = true;
    receivedBytes_ += *received;
    if (receivedBytes_ == sizeof header_) RONDO_RETURN_IF_ERROR(onHeader());
    if (receivedBytes_ == sizeof header_ + header_.bytes && socket_.valid()) onPayload();
  }
  return moved;
}

/// Where the next bytes go.
std::span<std::byte> RecvLink::place() {
  if (receivedBytes_ < sizeof header_) {
    return std::as_writable_bytes(std::span(&header_, 1)).subspan(receivedBytes_);
  }
  const std::size_t ofPayload = receivedBytes_ - sizeof header_;
  return {connection_->slot(arrived()) + ofPayload, header_.bytes - ofPayload};
}

Status RecvLink::onHeader() {
  const char* fault = faultOf(header_, connection_->slotBytes());
  if (fault == nullptr && header_.kind == kGoodbye) {
    end({});
    return {};
  }
  if (fault == nullptr && arrived() - credited_ == peerSlots_) {
    fault = "it sends more slots than it has";
  }
  if (fault == nullptr) return {};
  end(fault);  // what follows has no place here
  return Status::mismatch("rank {} does not keep to the protocol: {}", peer_, fault);
}

void RecvLink::onPayload() {
  const std::uint64_t number = arrived();
  connection_->entry(number) = {header_.bytes, header_.call};
  host::postCounter(connection_->control().tail.value, number + 1);
  receivedBytes_ = 0;
}

bool RecvLink::sendCredit() {
  bool moved = false;
  for (;;) {
    if (creditBytes_ == credit_.size()) {
      const Credit next{released()};
      if (next.released == credited_) return moved;
      credited_ = next.released;
      std::memcpy(credit_.data(), &next, sizeof next);
      creditBytes_ = 0;
    }
    const Result<std::size_t> sent =
        sendSome(socket_.get(), std::span(credit_).subspan(creditBytes_), name_);
    // A peer that no longer reads may still have data under way; receiving finds the end.
    if (!sent.ok()) creditBytes_ = credit_.size();
    if (!sent.ok() || *sent == 0) return moved;
    creditBytes_ += *sent;
    moved = true;
  }
}

void RecvLink::close() {
  if (socket_.valid()) (void)sendCredit();  // so little always fits
  end({});
}

void RecvLink::end(std::string why) {
  ended_ = true;
  whyLost_ = std::move(why);
  socket_.reset();
}

}  // namespace rondo::tcp
