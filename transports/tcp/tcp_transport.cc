#include "transports/tcp/tcp_transport.h"

#include <utility>

namespace rondo::tcp {

TcpTransport::TcpTransport(int rank,
                           SlotShape slots,
                           ControlPlane* control,
                           Status whyNot,
                           std::chrono::milliseconds connectTimeout,
                           SlotAccount account)
    : rank_(rank),
      slots_(slots),
      control_(control),
      whyNot_(std::move(whyNot)),
      connectTimeout_(connectTimeout),
      account_(std::move(account)) {}

Result<std::string> TcpTransport::offer() {
  if (control_ == nullptr) return whyNot_;
  return control_->addressWord();
}

bool TcpTransport::canReach(int /*peer*/, std::string_view offer) const {
  return !offer.empty();
}

Status TcpTransport::open(const std::vector<std::string>& offers, Deadline /*deadline*/) {
  return control_->learnPeers(offers);
}

Result<ConnectionMemory> TcpTransport::connect(int from, int to, int channel) {
  return from == rank_ ? connectSend(to, channel) : connectRecv(from, channel);
}

Result<ConnectionMemory> TcpTransport::connectSend(int to, int channel) {
  auto connection = makePaidConnection(account_, slots_, rank_, to, channel);
  RONDO_RETURN_IF_ERROR(connection.status());
  Result<FileDescriptor> socket =
      control_->dialData(to, {DataWire::kTcp, channel, slots_.bytes, (*connection)->slotCount()},
                         Deadline::within(connectTimeout_));
  if (socket.ok()) {
    return links_.addSend({to, channel}, to, *std::move(socket), *std::move(connection)).memory();
  }
  if (socket.status().code() != StatusCode::kPeerLost) return std::move(socket).status();
  // A peer that is gone is no error of connecting: what it did last may explain it better.
  return links_
      .addSend({to, channel}, to, std::string(socket.status().message()), *std::move(connection))
      .memory();
}

/// Short of memory, one end may have fewer slots than the other: the sender then runs less far
/// ahead, or what it sends waits in the socket.
Result<ConnectionMemory> TcpTransport::connectRecv(int from, int channel) {
  auto connection = makePaidConnection(account_, slots_, from, rank_, channel);
  RONDO_RETURN_IF_ERROR(connection.status());
  return links_.addRecv({from, channel}, from, *std::move(connection)).memory();
}

Result<bool> TcpTransport::progress() {
  bool moved = false;
  for (auto& [key, link] : links_.recvs()) {
    if (!link.connected()) RONDO_RETURN_IF_ERROR(adoptArrival(key, link));
    Result<bool> progressed = link.progress();
    if (!progressed.ok()) return progressed;
    moved |= *progressed;
  }
  for (auto& [key, link] : links_.sends()) {
    Result<bool> progressed = link.progress();
    if (!progressed.ok()) return progressed;
    moved |= *progressed;
  }
  return moved;
}

Status TcpTransport::adoptArrival(Links::Key key, RecvLink& link) {
  auto arrival = control_->takeDataSocket(DataWire::kTcp, key.first, key.second);
  if (!arrival) return {};
  const OpenData& open = arrival->opening;
  if (open.slotBytes != slots_.bytes) {
    return Status::mismatch("rank {} sends slots of {} bytes, rank {} expects {}", key.first,
                            open.slotBytes, rank_, slots_.bytes);
  }
  link.adopt(std::move(arrival->socket), open.slotCount);
  return {};
}

void TcpTransport::watch(std::vector<int>& descriptors) const {
  for (const auto& [key, link] : links_.recvs())
    if (link.socket() >= 0 && link.hasRoom()) descriptors.push_back(link.socket());
  // A peer from which nothing is expected may leave; the end of its socket must wake nobody then.
  for (const auto& [key, link] : links_.sends())
    if (!link.taken()) descriptors.push_back(link.socket());
}

}  // namespace rondo::tcp
