// Stream sockets with deadlines. Every call here survives signals, never raises SIGPIPE, and says
// in its errors what was tried, with whom, and the system's text. Sockets made here do not block
// and are not inherited by programs that this process starts.
//
// What is said over them is src/bootstrap's and the transports'.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "src/net/deadline.h"
#include "src/net/file_descriptor.h"
#include "src/net/socket_address.h"
#include "src/status.h"

namespace rondo {

/// Ports to try in turn, both ends included; {0, 0}: any free one.
struct PortRange {
  int first = 0;
  int last = 0;
};

/// Listens at the address `at`, on the first port of the range that is free. A port that an earlier
/// run has just left counts as free.
/// @param at     its own port is ignored.
/// @errors   InvalidArgument (range), SystemError (names the address and all ports tried).
Result<FileDescriptor> listenOn(const SocketAddress& at, PortRange ports);

/// listenOn() all addresses of this host, of both families where it has IPv6.
Result<FileDescriptor> listenEverywhere(PortRange ports);

/// Where `socket` is on this host; its port if the system has chosen it.
/// @errors   SystemError.
Result<SocketAddress> localAddress(int socket);

/// A connection that somebody made to this process.
struct AcceptedConnection {
  FileDescriptor socket;
  SocketAddress peer;
};

/// The next connection that waits at `listener`, if one does. Connections that were given up before
/// they were accepted are passed over.
/// @errors   SystemError: mostly too many open files; try again later.
Result<std::optional<AcceptedConnection>> acceptConnection(int listener);

/// One try to connect to `address`.
/// @errors   PeerLost (refused, host unreachable, ...), Timeout, SystemError (this host lacks
///   something: a network that leads there, a socket, a port, a permission).
Result<FileDescriptor> connectOnce(const SocketAddress& address, Deadline deadline);

/// A connection and to which of the addresses it leads.
struct MadeConnection {
  FileDescriptor socket;
  std::size_t address = 0;  ///< index
};

/// Tries the addresses in turn, again and again, with growing pauses, until one answers. A peer
/// that is not up yet refuses, and a network that comes up late is unreachable at first: nothing is
/// final before the deadline.
/// @param addresses at least one.
/// @errors   Timeout, with addresses, number of tries and the last cause.
Result<MadeConnection> connectWithRetry(std::span<const SocketAddress> addresses,
                                        Deadline deadline);

/// Waits until `socket` is ready for `events` (POLLIN, POLLOUT) or has failed.
/// @return false at the deadline.
/// @errors   SystemError.
Result<bool> waitUntilReady(int socket, short events, Deadline deadline);

/// Sends what can be sent at once.
/// @param peer   for errors: an address, or another word for the other side.
/// @return bytes sent; 0: none now.
/// @errors   PeerLost.
Result<std::size_t> sendSome(int socket, std::span<const std::byte> bytes, std::string_view peer);

/// Sends what can be sent at once of `first` and then of `second`, either of which may be empty.
/// @return bytes sent, of both together; 0: none now.
/// @errors   PeerLost.
Result<std::size_t> sendPieces(int socket,
                               std::span<const std::byte> first,
                               std::span<const std::byte> second,
                               std::string_view peer);

/// Receives what is there, up to the size of `bytes`, which is not 0.
/// @return bytes received; 0: none now.
/// @errors   PeerLost (the end of the stream too).
Result<std::size_t> recvSome(int socket, std::span<std::byte> bytes, std::string_view peer);

/// Sends all of `bytes`.
/// @errors   PeerLost, Timeout; each with `peer` and how many bytes were sent.
Status sendAll(int socket,
               std::span<const std::byte> bytes,
               Deadline deadline,
               std::string_view peer);

/// Receives exactly as much as `bytes` holds.
/// @errors   PeerLost, Timeout; each with `peer` and how many bytes came.
Status recvAll(int socket, std::span<std::byte> bytes, Deadline deadline, std::string_view peer);

}  // namespace rondo
