// How an arena reaches the other processes of its host: over a Unix socket in the abstract
// namespace, whose both ends prove that they know the job's secret before the memory's descriptor
// is passed.
#pragma once

#include <string>

#include "src/bootstrap/secret_key.h"
#include "src/net/deadline.h"
#include "src/net/file_descriptor.h"
#include "src/status.h"
#include "transports/shm/arena.h"

namespace rondo::shm {

/// A listening socket at a random abstract address of this host. Every rank makes one before it
/// knows which rank will hand out the arena.
class ArenaListener {
 public:
  /// @errors SystemError
  static Result<ArenaListener> create();

  /// For the other ranks.
  const std::string& address() const { return address_; }

  /// Passes `arena` to `takers` ranks, each once; strangers are dropped and do not count.
  /// @errors Timeout (how many have not come), SystemError
  Status handOut(
      const Arena& arena, int takers, int ranks, const SecretKey& key, Deadline deadline) const;

 private:
  ArenaListener(FileDescriptor socket, std::string address);

  FileDescriptor socket_;
  std::string address_;
};

/// Receives and maps the arena that is handed out at `address`.
/// @param rank, ranks who asks
/// @errors Timeout, PeerLost (nobody there any more), SystemError
Result<Arena> takeArena(
    const std::string& address, int rank, int ranks, const SecretKey& key, Deadline deadline);

}  // namespace rondo::shm
