// Connects to another rank that listens since before its addresses were known, and is convinced of
// it, as it is of us.
#pragma once

#include <functional>
#include <span>

#include "src/bootstrap/handshake.h"
#include "src/net/socket.h"

namespace rondo {

/// Tries all addresses until one answers and both sides are convinced.
/// @param givenUp asked between tries; not ok ends them.
/// @errors PeerLost (an address has refused for a while, and no other may answer yet: the rank is
///   gone), Timeout, Mismatch (not a rank of this job, or of another version), what givenUp() says.
///   The message names the rank and its addresses.
Result<FileDescriptor> dialRank(int peer,
                                std::span<const SocketAddress> addresses,
                                const SecretKey& key,
                                const PeerIdentity& self,
                                Deadline deadline,
                                const std::function<Status()>& givenUp);

}  // namespace rondo
