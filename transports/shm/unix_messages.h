// Unix sockets in the abstract namespace, and messages on them that pass a file descriptor on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo::shm {

/// An address in the abstract namespace: no file, gone with its socket.
struct UnixAddress {
  sockaddr_un bytes{};
  socklen_t length = 0;

  explicit UnixAddress(std::string_view name);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// A name that nobody guesses: "rondo-" and 32 digits.
/// @errors SystemError
Result<std::string> randomSocketName();

/// @param type  SOCK_STREAM or SOCK_DGRAM
/// @param flags SOCK_NONBLOCK or 0
/// @return invalid, with errno set, if there is none
FileDescriptor unixSocket(int type, int flags);

/// Sends `bytes` and, with them, `descriptor`.
/// @param to null: to whom the socket is connected
/// @return false, with errno set, unless all of it went
bool sendWithDescriptor(int socket,
                        std::span<std::byte> bytes,
                        int descriptor,
                        const UnixAddress* to = nullptr);

/// Receives what the other function sends, without waiting if the socket is so.
/// @param descriptor receives what came with it, or none
/// @return bytes received, -1 with errno set
std::ptrdiff_t receiveWithDescriptor(int socket,
                                     std::span<std::byte> bytes,
                                     FileDescriptor& descriptor);

}  // namespace rondo::shm
