// From the name of a host to its addresses: for names that people and launchers give, never for
// this host's own.
#pragma once

#include <string>
#include <vector>

#include "src/net/deadline.h"
#include "src/net/socket_address.h"
#include "src/status.h"

namespace rondo {

/// The addresses of `host`, a name or a number, with port 0, as the system's resolver orders them.
/// A name that is not known may become so (a pod that is being started), so it is asked for again
/// until `deadline`. The resolver itself may take longer than that: usually seconds.
/// @return at least one.
/// @threads  any.
/// @errors   Timeout, with the resolver's text.
Result<std::vector<SocketAddress>> resolveHost(const std::string& host, Deadline deadline);

}  // namespace rondo
