#include "src/net/socket.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "src/log.h"
#include "src/net/address_list.h"
#include "src/net/backoff.h"
#include "src/net/errno_text.h"
#include "src/net/socket_option.h"

namespace rondo {

namespace {

/// For one try of connecting while there are others to make: an address that answers nothing costs
/// this much. Above the first repeat of a lost SYN, which Linux sends after 1 s.
constexpr std::chrono::milliseconds kConnectTry{2500};

constexpr int kHighestPort = 65535;

Result<FileDescriptor> makeSocket(AddressFamily family) {
  const int domain = family == AddressFamily::kIpv4 ? AF_INET : AF_INET6;
  FileDescriptor socket(::socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.valid()) return socket;
  const int error = errno;
  return Status::systemError("cannot make an {} socket: {}",
                             family == AddressFamily::kIpv4 ? "IPv4" : "IPv6", errnoText(error));
}

/// What listen() or bind() said: 0, or an errno.
int tryListen(int socket, const SocketAddress& at) {
  const NativeAddress native = at.native();
  if (::bind(socket, native.get(), native.size) != 0) return errno;
  return ::listen(socket, SOMAXCONN) == 0 ? 0 : errno;
}

Status checkRange(PortRange ports) {
  const bool any = ports.first == 0 && ports.last == 0;
  if (any || (ports.first > 0 && ports.last >= ports.first && ports.last <= kHighestPort))
    return {};
  return Status::invalidArgument("ports {} to {} are no range within 1 to {}, nor 0 to 0 for any",
                                 ports.first, ports.last, kHighestPort);
}

/// Whether accept() only says that the connection it would have returned is gone (accept(2)).
bool lostBeforeAccepted(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EOPNOTSUPP:
      return true;
    default:
      return false;
  }
}

/// How the connection attempt of `socket` ended: 0, or an errno.
int connectOutcome(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// A socket that listens at `at`, if `error` becomes 0; otherwise that errno says why not.
Result<FileDescriptor> listenAtPort(const SocketAddress& at, int& error) {
  Result<FileDescriptor> socket = makeSocket(at.family());
  RONDO_RETURN_IF_ERROR(socket.status());
  trySocketOption(socket->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (at.family() == AddressFamily::kIpv6)
    trySocketOption(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  error = tryListen(socket->get(), at);
  return socket;
}

/// Whether this host is to blame, which may have no way to where the peer is, and not the peer.
bool isOwnTrouble(int error) {
  switch (error) {
    case EACCES:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
    case EAGAIN:
    case ENETUNREACH:
    case ENOBUFS:
    case ENOMEM:
    case EPERM:
      return true;
    default:
      return false;
  }
}

Status connectFailure(const SocketAddress& address, int error) {
  if (isOwnTrouble(error)) {
    return Status::systemError("cannot connect to {}: {}", address.text(), errnoText(error));
  }
  return Status::peerLost("cannot connect to {}: {}", address.text(), errnoText(error));
}

/// A socket that dials a port of its own host which nobody listens at, and is given that very port
/// as its own, connects to itself.
bool connectedToItself(int socket, const SocketAddress& address) {
  const Result<SocketAddress> local = localAddress(socket);
  return local.ok() && *local == address;
}

void logFailedTry(std::size_t number, const Status& cause) {
  RONDO_LOG(kDebug, kTransport, "try {}: {}", number, cause.message());
}

bool wouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

Result<FileDescriptor> listenOn(const SocketAddress& at, PortRange ports) {
  RONDO_RETURN_IF_ERROR(checkRange(ports));
  int error = 0;
  for (int port = ports.first; port <= ports.last; ++port) {
    Result<FileDescriptor> socket =
        listenAtPort(at.withPort(static_cast<std::uint16_t>(port)), error);
    if (!socket.ok() || error == 0) return socket;
  }
  const std::string tried = ports.first == ports.last
                                ? fmt::format("port {}", ports.first)
                                : fmt::format("any of ports {} to {}", ports.first, ports.last);
  return Status::systemError("cannot listen at {} {}: {}", at.hostText(), tried, errnoText(error));
}

Result<FileDescriptor> listenEverywhere(PortRange ports) {
  Result<FileDescriptor> both = listenOn(SocketAddress::any(AddressFamily::kIpv6), ports);
  if (both.ok() || both.status().code() == StatusCode::kInvalidArgument) return both;
  // No IPv6 here, or it is switched off.
  return listenOn(SocketAddress::any(AddressFamily::kIpv4), ports);
}

Result<SocketAddress> localAddress(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const native = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(socket, native, &size) != 0) {
    const int error = errno;
    return Status::systemError("cannot tell the address of a socket: {}", errnoText(error));
  }
  const std::optional<SocketAddress> address = SocketAddress::fromNative(native);
  if (!address) return Status::systemError("a socket has neither an IPv4 nor an IPv6 address");
  return *address;
}

Result<std::optional<AcceptedConnection>> acceptConnection(int listener) {
  for (;;) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    auto* const native = reinterpret_cast<sockaddr*>(&storage);
    FileDescriptor socket(::accept4(listener, native, &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      trySocketOption(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
      return std::optional(AcceptedConnection{
          std::move(socket), SocketAddress::fromNative(native).value_or(SocketAddress{})});
    }
    const int error = errno;
    if (wouldBlock(error)) return std::optional<AcceptedConnection>{};
    if (!lostBeforeAccepted(error)) {
      return Status::systemError("cannot accept a connection: {}", errnoText(error));
    }
  }
}

Result<FileDescriptor> connectOnce(const SocketAddress& address, Deadline deadline) {
  Result<FileDescriptor> made = makeSocket(address.family());
  RONDO_RETURN_IF_ERROR(made.status());
  const int socket = made->get();
  trySocketOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  const NativeAddress native = address.native();
  if (::connect(socket, native.get(), native.size) != 0) {
    // After EINTR the attempt goes on like one that was begun without blocking (connect(2)).
    if (errno != EINPROGRESS && errno != EINTR) return connectFailure(address, errno);
    const Result<bool> ready = waitUntilReady(socket, POLLOUT, deadline);
    RONDO_RETURN_IF_ERROR(ready.status());
    if (!*ready) return Status::timeout("cannot connect to {}: no answer in time", address.text());
    if (const int error = connectOutcome(socket); error != 0) return connectFailure(address, error);
  }
  if (connectedToItself(socket, address)) return connectFailure(address, ECONNREFUSED);
  return made;
}

Result<MadeConnection> connectWithRetry(std::span<const SocketAddress> addresses,
                                        Deadline deadline) {
  RONDO_CHECK(!addresses.empty());
  const Deadline::Clock::time_point start = Deadline::Clock::now();
  Backoff backoff;
  Status cause;
  for (std::size_t tries = 1;; ++tries) {
    const std::size_t index = (tries - 1) % addresses.size();
    Result<FileDescriptor> socket =
        connectOnce(addresses[index], earlier(deadline, Deadline::within(kConnectTry)));
    if (socket.ok()) return MadeConnection{*std::move(socket), index};
    cause = std::move(socket).status();
    logFailedTry(tries, cause);
    if (deadline.passed()) {
      const auto waited =
          std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - start);
      return Status::timeout("nobody answers at {} after {} ms and {} tries: {}",
                             listAddresses(addresses), waited.count(), tries, cause.message());
    }
    if (index + 1 == addresses.size()) backoff.pause(deadline);
  }
}

Result<bool> waitUntilReady(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd poll{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&poll, 1, deadline.pollTimeout());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) {
      const int error = errno;
      return Status::systemError("cannot wait for a socket: {}", errnoText(error));
    }
    if (deadline.passed()) return false;
  }
}

Result<std::size_t> sendSome(int socket, std::span<const std::byte> bytes, std::string_view peer) {
  return sendPieces(socket, bytes, {}, peer);
}

Result<std::size_t> sendPieces(int socket,
                               std::span<const std::byte> first,
                               std::span<const std::byte> second,
                               std::string_view peer) {
  // sendmsg() only reads what the pieces point to.
  std::array<iovec, 2> pieces{iovec{const_cast<std::byte*>(first.data()), first.size()},
                              iovec{const_cast<std::byte*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    const int error = errno;
    if (wouldBlock(error)) return std::size_t{0};
    if (error != EINTR) return Status::peerLost("cannot send to {}: {}", peer, errnoText(error));
  }
}

Result<std::size_t> recvSome(int socket, std::span<std::byte> bytes, std::string_view peer) {
  RONDO_CHECK(!bytes.empty());
  for (;;) {
    const ssize_t received = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) return static_cast<std::size_t>(received);
    if (received == 0) return Status::peerLost("{} closed the connection", peer);
    const int error = errno;
    if (wouldBlock(error)) return std::size_t{0};
    if (error != EINTR) {
      return Status::peerLost("cannot receive from {}: {}", peer, errnoText(error));
    }
  }
}

Status sendAll(int socket,
               std::span<const std::byte> bytes,
               Deadline deadline,
               std::string_view peer) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const Result<std::size_t> sent = sendSome(socket, bytes.subspan(done), peer);
    if (!sent.ok()) {
      return sent.status().withContext(fmt::format("after {} of {} bytes", done, bytes.size()));
    }
    done += *sent;
    if (*sent > 0) continue;
    const Result<bool> ready = waitUntilReady(socket, POLLOUT, deadline);
    RONDO_RETURN_IF_ERROR(ready.status());
    if (!*ready) {
      return Status::timeout("{} took only {} of {} bytes in time", peer, done, bytes.size());
    }
  }
  return {};
}

Status recvAll(int socket, std::span<std::byte> bytes, Deadline deadline, std::string_view peer) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const Result<std::size_t> received = recvSome(socket, bytes.subspan(done), peer);
    if (!received.ok()) {
      return received.status().withContext(fmt::format("after {} of {} bytes", done, bytes.size()));
    }
    done += *received;
    if (*received > 0) continue;
    const Result<bool> ready = waitUntilReady(socket, POLLIN, deadline);
    RONDO_RETURN_IF_ERROR(ready.status());
    if (!*ready) {
      return Status::timeout("{} sent only {} of {} bytes in time", peer, done, bytes.size());
    }
  }
  return {};
}

}  // namespace rondo
