// How the kernel finds out that the host at the other end of a connection is gone: without it, a
// host that loses power leaves its peers waiting for ever.
#pragma once

namespace rondo {

/// Has the kernel probe a silent peer, and give the connection up after about half a minute without
/// an answer. It asks the peer's kernel, not its process: a process that is stopped in a debugger
/// is not lost. Takes detectDeadHost() back.
/// @param socket a TCP socket. Others ignore it.
void probeSilentHost(int socket);

/// The same, and gives up a connection whose data nobody acknowledges for half a minute. Only where
/// the peer reads at all times: a full receive buffer counts as no acknowledgement.
void detectDeadHost(int socket);

}  // namespace rondo
