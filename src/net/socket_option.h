// Options of sockets that are wished for and not needed.
#pragma once

#include <sys/socket.h>

namespace rondo {

/// Sets option `option` of `level` to `value`. Fails silently where the option is unknown, as
/// TCP_NODELAY is to Unix sockets.
inline void trySocketOption(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace rondo
