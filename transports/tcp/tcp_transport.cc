#include "transports/tcp/tcp_transport.h"

#include <algorithm>

#include "src/net/address_list.h"

namespace rondo::tcp {

namespace {

/// Reads "10.0.0.1:4000,[fd00::1]:4000".
Result<std::vector<SocketAddress>> parseList(std::string_view list) {
  std::vector<SocketAddress> addresses;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const Result<SocketAddress> address = SocketAddress::parse(list.substr(0, comma));
    RONDO_RETURN_IF_ERROR(address.status());
    addresses.push_back(*address);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return addresses;
}

}  // namespace

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
  return listAddresses(control_->addresses(), ",");
}

bool TcpTransport::canReach(int /*peer*/, std::string_view offer) const {
  return !offer.empty();
}

Status TcpTransport::open(const std::vector<std::string>& offers, Deadline /*deadline*/) {
  std::vector<std::vector<SocketAddress>> peers;
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    Result<std::vector<SocketAddress>> addresses = parseList(offers[rank]);
    if (!addresses.ok()) {
      return addresses.status().withContext(fmt::format("the addresses of rank {}", rank));
    }
    peers.push_back(*std::move(addresses));
  }
  control_->setPeers(std::move(peers));
  return {};
}

Result<ConnectionMemory> TcpTransport::connect(int from, int to, int channel) {
  return from == rank_ ? connectSend(to, channel) : connectRecv(from, channel);
}

/// Short of memory, one end may have fewer slots than the other: the sender then runs less far
/// ahead, or what it sends waits in the socket.
Result<std::unique_ptr<PrivateConnection>> TcpTransport::makeEnd(int from, int to, int channel) {
  Result<SlotShape> slots = account_.take(slots_);
  if (!slots.ok()) {
    return std::move(slots).status().withContext(
        fmt::format("connection from rank {} to rank {} channel {}", from, to, channel));
  }
  auto connection = PrivateConnection::make(slots->bytes, slots->count);
  if (connection != nullptr) return connection;
  account_.giveBack(*slots);
  return noMemory(from, to, channel, *slots);
}

Result<ConnectionMemory> TcpTransport::connectSend(int to, int channel) {
  Result<std::unique_ptr<PrivateConnection>> connection = makeEnd(rank_, to, channel);
  RONDO_RETURN_IF_ERROR(connection.status());
  const Deadline deadline = Deadline::within(connectTimeout_);
  Result<FileDescriptor> socket =
      openData(to, {channel, slots_.bytes, (*connection)->slotCount()}, deadline);
  const std::scoped_lock lock(mutex_);
  if (socket.ok()) {
    const auto made =
        sends_.try_emplace(Key{to, channel}, to, *std::move(socket), *std::move(connection));
    return made.first->second.memory();
  }
  if (socket.status().code() != StatusCode::kPeerLost) return std::move(socket).status();
  // A peer that is gone is no error of connecting: what it did last may explain it better.
  const auto made = sends_.try_emplace(Key{to, channel}, to, std::string(socket.status().message()),
                                       *std::move(connection));
  return made.first->second.memory();
}

Result<FileDescriptor> TcpTransport::openData(int to, OpenData opening, Deadline deadline) {
  Result<FileDescriptor> socket = control_->dial(to, PeerRole::kData, deadline);
  RONDO_RETURN_IF_ERROR(socket.status());
  std::vector<std::byte> bytes;
  appendOpenData(bytes, opening);
  RONDO_RETURN_IF_ERROR(sendAll(socket->get(), bytes, deadline, fmt::format("rank {}", to)));
  return socket;
}

Result<ConnectionMemory> TcpTransport::connectRecv(int from, int channel) {
  Result<std::unique_ptr<PrivateConnection>> connection = makeEnd(from, rank_, channel);
  RONDO_RETURN_IF_ERROR(connection.status());
  const std::scoped_lock lock(mutex_);
  const auto made = recvs_.try_emplace(Key{from, channel}, from, *std::move(connection));
  return made.first->second.memory();
}

Result<bool> TcpTransport::progress() {
  bool moved = false;
  for (auto& [key, link] : recvs_) {
    if (!link.connected()) RONDO_RETURN_IF_ERROR(adoptArrival(key, link));
    Result<bool> progressed = link.progress();
    if (!progressed.ok()) return progressed;
    moved |= *progressed;
  }
  for (auto& [key, link] : sends_) {
    Result<bool> progressed = link.progress();
    if (!progressed.ok()) return progressed;
    moved |= *progressed;
  }
  return moved;
}

Status TcpTransport::adoptArrival(Key key, RecvLink& link) {
  auto arrival = control_->takeDataSocket(key.first, key.second);
  if (!arrival) return {};
  const OpenData& open = arrival->second;
  if (open.slotBytes != slots_.bytes) {
    return Status::mismatch("rank {} sends slots of {} bytes, rank {} expects {}", key.first,
                            open.slotBytes, rank_, slots_.bytes);
  }
  link.adopt(std::move(arrival->first), open.slotCount);
  return {};
}

bool TcpTransport::flushed() const {
  return std::ranges::all_of(sends_, [](const auto& entry) { return entry.second.flushed(); });
}

bool TcpTransport::taken() const {
  return std::ranges::all_of(sends_, [](const auto& entry) { return entry.second.taken(); });
}

Traffic TcpTransport::traffic(int peer) const {
  const std::scoped_lock lock(mutex_);
  Traffic traffic;
  for (const auto& [key, link] : sends_) {
    if (key.first != peer) continue;
    traffic.posted += link.posted();
    traffic.credited += link.released();
  }
  for (const auto& [key, link] : recvs_) {
    if (key.first != peer) continue;
    traffic.arrived += link.arrived();
    traffic.released += link.released();
  }
  return traffic;
}

bool TcpTransport::drained(int peer) const {
  return std::ranges::all_of(recvs_, [peer](const auto& entry) {
    const RecvLink& link = entry.second;
    return link.peer() != peer || link.ended() || !link.connected() || !link.hasRoom();
  });
}

std::string TcpTransport::whyLost(int peer) const {
  for (const auto& [key, link] : recvs_) {
    if (key.first == peer && !link.whyLost().empty()) return link.whyLost();
  }
  for (const auto& [key, link] : sends_) {
    if (key.first == peer && !link.whyEnded().empty()) return link.whyEnded();
  }
  return {};
}

void TcpTransport::watch(std::vector<int>& descriptors) const {
  for (const auto& [key, link] : recvs_)
    if (link.socket() >= 0 && link.hasRoom()) descriptors.push_back(link.socket());
  // A peer from which nothing is expected may leave; the end of its socket must wake nobody then.
  for (const auto& [key, link] : sends_)
    if (!link.taken()) descriptors.push_back(link.socket());
}

std::size_t TcpTransport::memoryBytes() const {
  return account_.held();
}

void TcpTransport::close() {
  for (auto& [key, link] : sends_)
    link.close();
  for (auto& [key, link] : recvs_)
    link.close();
}

}  // namespace rondo::tcp
