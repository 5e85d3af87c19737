#include "transports/shm/arena_exchange.h"

#include <cerrno>
#include <set>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "src/bootstrap/handshake.h"
#include "src/log.h"
#include "src/net/errno_text.h"
#include "src/net/socket.h"
#include "transports/shm/unix_messages.h"

namespace rondo::shm {

namespace {

constexpr int kBacklog = 256;

Status socketFailure(const char* call) {
  return Status::systemError("passing shared memory: {} failed: {}", call, errnoText(errno));
}

Status sendDescriptor(int socket, int descriptor) {
  std::byte nothing{};
  return sendWithDescriptor(socket, {&nothing, 1}, descriptor) ? Status{}
                                                               : socketFailure("sendmsg");
}

Result<FileDescriptor> receiveDescriptor(int socket, Deadline deadline) {
  Result<bool> ready = waitUntilReady(socket, POLLIN, deadline);
  if (!ready.ok()) return std::move(ready).status();
  if (!*ready) return Status::timeout("passing shared memory: the other rank did not answer");
  std::byte nothing{};
  FileDescriptor descriptor;
  if (receiveWithDescriptor(socket, {&nothing, 1}, descriptor) < 0) return socketFailure("recvmsg");
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
  const FileDescriptor socket = unixSocket(SOCK_STREAM, 0);
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
  Result<std::string> name = randomSocketName();
  if (!name.ok()) return std::move(name).status();
  FileDescriptor socket = unixSocket(SOCK_STREAM, SOCK_NONBLOCK);
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
