#include "transports/shm/arena_exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/random_bytes.h"
#include "src/log.h"
#include "src/net/errno_text.h"
#include "src/net/socket.h"

namespace rondo::shm {

namespace {

constexpr int kBacklog = 256;

Status socketFailure(const char* call) {
  return Status::systemError("passing shared memory: {} failed: {}", call, errnoText(errno));
}

/// An address in the abstract namespace: no file, gone with its socket.
struct UnixAddress {
  sockaddr_un bytes{};
  socklen_t length = 0;

  explicit UnixAddress(const std::string& name) {
    bytes.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof bytes.sun_path - 1);
    std::memcpy(bytes.sun_path + 1, name.data(), size);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

FileDescriptor unixSocket(int flags) {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

Result<std::string> randomName() {
  std::array<std::byte, 16> bytes{};
  RONDO_RETURN_IF_ERROR(fillRandom(bytes));
  std::string name = "rondo-";
  for (const std::byte byte : bytes)
    name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return name;
}

/// A message of one byte and, as ancillary data, room for one descriptor.
class DescriptorMessage {
 public:
  DescriptorMessage() {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }

  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  msghdr* header() { return &message_; }

  void put(int descriptor) {
    cmsghdr* entry = CMSG_FIRSTHDR(&message_);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(entry), &descriptor, sizeof descriptor);
  }

  /// What was received, or none.
  FileDescriptor take() {
    const cmsghdr* entry = CMSG_FIRSTHDR(&message_);
    if (entry == nullptr || entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS ||
        entry->cmsg_len != CMSG_LEN(sizeof(int))) {
      return {};
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(entry), sizeof descriptor);
    return FileDescriptor(descriptor);
  }

 private:
  std::byte byte_{};
  iovec part_{&byte_, 1};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control_{};
  msghdr message_{};
};

Status sendDescriptor(int socket, int descriptor) {
  DescriptorMessage message;
  message.put(descriptor);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, message.header(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1 ? Status{} : socketFailure("sendmsg");
}

Result<FileDescriptor> receiveDescriptor(int socket, Deadline deadline) {
  Result<bool> ready = waitUntilReady(socket, POLLIN, deadline);
  if (!ready.ok()) return std::move(ready).status();
  if (!*ready) return Status::timeout("passing shared memory: the other rank did not answer");
  DescriptorMessage message;
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket, message.header(), MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return socketFailure("recvmsg");
  FileDescriptor descriptor = message.take();
  if (!descriptor.valid()) {
    return Status::peerLost(
        "passing shared memory: the other rank closed its end without passing any; its own error "
        "says why");
  }
  return descriptor;
}

/// The server takes its ranks one after another, so this one's turn may come after the handshake's
/// own limit; then it is worth another try.
Result<Arena> tryTakeArena(const std::string& address,
                           const PeerIdentity& self,
                           const SecretKey& key,
                           Deadline deadline) {
  const FileDescriptor socket = unixSocket(0);
  if (!socket.valid()) return socketFailure("socket");
  const UnixAddress server(address);
  if (::connect(socket.get(), server.get(), server.length) != 0) {
    const int error = errno;
    return Status::peerLost(
        "passing shared memory: the rank that hands it out is gone ({}); its own error says why",
        errnoText(error));
  }
  RONDO_RETURN_IF_ERROR(authenticateAsClient(socket.get(), key, self, deadline,
                                             "the rank that hands out shared memory"));
  Result<FileDescriptor> file = receiveDescriptor(socket.get(), deadline);
  if (!file.ok()) return std::move(file).status();
  return Arena::map(*std::move(file));
}

}  // namespace

ArenaListener::ArenaListener(FileDescriptor socket, std::string address)
    : socket_(std::move(socket)), address_(std::move(address)) {}

Result<ArenaListener> ArenaListener::create() {
  Result<std::string> name = randomName();
  if (!name.ok()) return std::move(name).status();
  FileDescriptor socket = unixSocket(SOCK_NONBLOCK);
  if (!socket.valid()) return socketFailure("socket");
  const UnixAddress address(*name);
  if (::bind(socket.get(), address.get(), address.length) != 0) return socketFailure("bind");
  if (::listen(socket.get(), kBacklog) != 0) return socketFailure("listen");
  return ArenaListener(std::move(socket), *std::move(name));
}

Status ArenaListener::handOut(
    const Arena& arena, int takers, int ranks, const SecretKey& key, Deadline deadline) const {
  std::set<int> served;
  while (static_cast<int>(served.size()) < takers) {
    Result<bool> ready = waitUntilReady(socket_.get(), POLLIN, deadline);
    if (!ready.ok()) return std::move(ready).status();
    if (!*ready) {
      return Status::timeout(
          "passing shared memory: {} of {} ranks of this host did not come; if they cannot, being "
          "of another network namespace, give them another RONDO_HOST_ID",
          takers - static_cast<int>(served.size()), takers);
    }
    const FileDescriptor taker(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taker.valid()) continue;
    const Result<PeerIdentity> peer = authenticateAsServer(
        taker.get(), key, earlier(deadline, Deadline::within(kHandshakeTimeout)));
    if (!peer.ok() || peer->role != PeerRole::kSharedMemory || peer->ranks != ranks) {
      RONDO_LOG(kWarn, kTransport, "dropped a stranger that asked for shared memory");
      continue;
    }
    RONDO_RETURN_IF_ERROR(sendDescriptor(taker.get(), arena.file().get()));
    served.insert(peer->rank);
  }
  return {};
}

Result<Arena> takeArena(
    const std::string& address, int rank, int ranks, const SecretKey& key, Deadline deadline) {
  for (;;) {
    Result<Arena> arena =
        tryTakeArena(address, {PeerRole::kSharedMemory, rank, ranks}, key, deadline);
    if (arena.status().code() != StatusCode::kTimeout || deadline.passed()) return arena;
  }
}

}  // namespace rondo::shm
