#include "examples/transport_packets/packet_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include "src/net/errno_text.h"
#include "src/rank_info.h"

namespace rondo::example {

namespace {

/// Peers that have connected and were not accepted yet.
constexpr int kBacklog = 1024;

/// SlotEntry::bytes of a packet after which the end of the connection is no loss.
constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};

/// The first packet of a connection.
struct Hello {
  int from = 0;
  int channel = 0;
};

FileDescriptor packetSocket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// The socket's name in an offer; "abstract" names (unix(7)) leave no file behind.
std::string_view socketName(std::string_view offer) {
  return offer.substr(offer.find('\n') + 1);
}

sockaddr_un addressOf(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(),
              std::min(name.size(), sizeof address.sun_path - 1));
  return address;
}

}  // namespace

Result<std::string> PacketTransport::offer() {
  listener_ = packetSocket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name without a length is for the system to choose.
  socklen_t size = sizeof address.sun_family;
  auto* const native = reinterpret_cast<sockaddr*>(&address);
  const bool listens = ::bind(listener_.get(), native, size) == 0 &&
                       ::listen(listener_.get(), kBacklog) == 0 &&
                       ::getsockname(listener_.get(), native, &(size = sizeof address)) == 0;
  if (!listens) return Status::systemError("no socket for packets: {}", errnoText(errno));
  const std::size_t nameBytes = size - offsetof(sockaddr_un, sun_path) - 1;
  return fmt::format("{}\n{}", hostIdentity(""), std::string_view(address.sun_path + 1, nameBytes));
}

bool PacketTransport::canReach(int /*peer*/, std::string_view offer) const {
  return offer.substr(0, offer.find('\n')) == hostIdentity("");
}

Status PacketTransport::open(const std::vector<std::string>& offers, Deadline /*deadline*/) {
  offers_ = offers;
  return {};
}

Result<ConnectionMemory> PacketTransport::connect(int from, int to, int channel) {
  auto connection = PrivateConnection::make(slots_.bytes, slots_.count);
  if (connection == nullptr) return noMemory(from, to, channel, slots_);
  const std::scoped_lock lock(mutex_);
  Link& link = links_[{from, to, channel}];
  link.connection = std::move(connection);
  if (from == rank_) dial(link, to, channel);
  return link.connection->memory();
}

/// The peer need not accept for that, so nobody waits for anybody.
void PacketTransport::dial(Link& link, int to, int channel) const {
  link.socket = packetSocket();
  const std::string_view name = socketName(offers_[static_cast<std::size_t>(to)]);
  const sockaddr_un address = addressOf(name);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Hello hello{rank_, channel};
  if (::connect(link.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::send(link.socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) < 0) {
    lose(link, errnoText(errno));
  }
}

Result<bool> PacketTransport::progress() {
  bool moved = acceptPeers();
  for (auto& [key, link] : links_)
    while (link.live() &&
           (sends(key) ? sendSlot(link) || takeCredit(link) : giveCredit(link) || takeSlot(link)))
      moved = true;
  return moved;
}

/// Links may come before this rank has asked for them.
bool PacketTransport::acceptPeers() {
  for (;;) {
    FileDescriptor arrival(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!arrival.valid()) break;
    arrivals_.push_back(std::move(arrival));
  }
  bool moved = false;
  for (FileDescriptor& arrival : arrivals_) {
    Hello hello;
    const ssize_t size = ::recv(arrival.get(), &hello, sizeof hello, 0);
    if (size < 0 && errno == EAGAIN) continue;
    const std::scoped_lock lock(mutex_);
    if (size == sizeof hello) {
      links_[{hello.from, rank_, hello.channel}].socket = std::move(arrival);
    }
    arrival.reset();
    moved = true;
  }
  std::erase_if(arrivals_, [](const FileDescriptor& arrival) { return !arrival.valid(); });
  return moved;
}

bool PacketTransport::sendSlot(Link& link) {
  if (link.moved == link.tail()) return false;
  SlotEntry entry = link.connection->entry(link.moved);
  const std::array<iovec, 2> packet{
      iovec{&entry, sizeof entry},
      iovec{link.connection->slot(link.moved), static_cast<std::size_t>(entry.bytes)}};
  if (!transfer(link, ::sendmsg, packet, MSG_NOSIGNAL)) return false;
  ++link.moved;
  return true;
}

bool PacketTransport::takeCredit(Link& link) {
  // With nothing under way the peer may leave, and that is no loss.
  if (link.head() == link.moved) return false;
  std::uint64_t released = 0;
  const std::array<iovec, 1> packet{iovec{&released, sizeof released}};
  if (!transfer(link, ::recvmsg, packet, 0)) return false;
  host::postCounter(link.connection->control().head.value, released);
  return true;
}

/// There always is a slot: a sender sends no more than it was told are free.
bool PacketTransport::takeSlot(Link& link) {
  const std::uint64_t number = link.tail();
  SlotEntry entry;
  const std::array<iovec, 2> packet{
      iovec{&entry, sizeof entry},
      iovec{link.connection->slot(number), link.connection->slotBytes()}};
  if (!transfer(link, ::recvmsg, packet, 0)) return false;
  if (entry.bytes == kGoodbye) {
    lose(link, {});
  } else {
    link.connection->entry(number) = entry;
    host::postCounter(link.connection->control().tail.value, number + 1);
  }
  return true;
}

bool PacketTransport::giveCredit(Link& link) {
  std::uint64_t released = link.head();
  if (released == link.moved) return false;
  // If the sender is gone, takeSlot() finds what it has sent before, and then the end.
  const ssize_t sent = ::send(link.socket.get(), &released, sizeof released, MSG_NOSIGNAL);
  if (sent < 0 && errno == EAGAIN) return false;
  link.moved = released;
  return true;
}

bool PacketTransport::flushed() const {
  return std::ranges::all_of(links_, [this](const auto& entry) {
    const auto& [key, link] = entry;
    return !sends(key) || link.ended || link.moved == link.tail();
  });
}

bool PacketTransport::taken() const {
  return std::ranges::all_of(links_, [this](const auto& entry) {
    const auto& [key, link] = entry;
    return !sends(key) || link.ended || link.head() == link.tail();
  });
}

Traffic PacketTransport::traffic(int peer) const {
  const std::scoped_lock lock(mutex_);
  Traffic traffic;
  for (const auto& [key, link] : links_) {
    if (peerOf(key) != peer || link.connection == nullptr) continue;
    (sends(key) ? traffic.posted : traffic.arrived) += link.tail();
    (sends(key) ? traffic.credited : traffic.released) += link.head();
  }
  return traffic;
}

bool PacketTransport::drained(int peer) const {
  return std::ranges::none_of(links_, [this, peer](const auto& entry) {
    const auto& [key, link] = entry;
    return peerOf(key) == peer && !sends(key) && link.live();
  });
}

std::string PacketTransport::whyLost(int peer) const {
  for (const auto& [key, link] : links_)
    if (peerOf(key) == peer && !link.whyLost.empty()) return link.whyLost;
  return {};
}

void PacketTransport::watch(std::vector<int>& descriptors) const {
  descriptors.push_back(listener_.get());
  for (const FileDescriptor& arrival : arrivals_)
    descriptors.push_back(arrival.get());
  // A peer that left while nothing was under way to it must not keep this rank awake.
  for (const auto& [key, link] : links_)
    if (link.live() && (!sends(key) || link.head() < link.tail()))
      descriptors.push_back(link.socket.get());
}

std::size_t PacketTransport::memoryBytes() const {
  return links_.size() * connectionBytes(slots_);
}

void PacketTransport::close() {
  for (auto& [key, link] : links_) {
    SlotEntry goodbye{kGoodbye, 0};
    if (link.live() && !sends(key)) giveCredit(link);
    if (!sends(key)) continue;
    if (link.live())
      (void)transfer(link, ::sendmsg, {{iovec{&goodbye, sizeof goodbye}}}, MSG_NOSIGNAL);
    lose(link, {});
  }
}

/// One packet.
/// @return false: not now, or the link has ended.
template <class Call>
bool PacketTransport::transfer(Link& link, Call call, std::span<const iovec> packet, int flags) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(packet.data());  // sendmsg() only reads what it points to
  message.msg_iovlen = packet.size();
  const ssize_t size = call(link.socket.get(), &message, flags);
  if (size > 0) return true;
  if (size == 0) lose(link, "closed by the peer");
  if (size < 0 && errno != EAGAIN) lose(link, errnoText(errno));
  return false;
}

/// @param why empty: it was to end
void PacketTransport::lose(Link& link, std::string why) {
  link.ended = true;
  link.whyLost = std::move(why);
  link.socket.reset();
}

}  // namespace rondo::example
