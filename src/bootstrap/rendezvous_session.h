// A rank's side of a rendezvous.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/bootstrap/exchange.h"
#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/unique_id.h"
#include "src/net/deadline.h"
#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo {

/// One rank's connection to the root, for any number of rounds. Its destruction tells the root that
/// this rank wants no more of them: ranks that wait for it in a later round then get PeerLost.
/// @threads one at a time.
class RendezvousSession final : public Exchange {
 public:
  /// Finds the root of `id`, which need not be up yet, and shakes hands with it.
  /// @param rank  0 to ranks - 1; each joins once.
  /// @param ranks 1 to kMostRanks.
  /// @errors   InvalidArgument (arguments, id), NotSupported (no libsodium), Mismatch (another
  ///   version, another secret), Timeout (with the root's addresses), SystemError.
  static Result<std::unique_ptr<RendezvousSession>> open(const UniqueId& id,
                                                         int rank,
                                                         int ranks,
                                                         const RendezvousSettings& settings);

  RendezvousSession(const RendezvousSession&) = delete;
  RendezvousSession& operator=(const RendezvousSession&) = delete;
  RendezvousSession(RendezvousSession&&) = delete;
  RendezvousSession& operator=(RendezvousSession&&) = delete;
  ~RendezvousSession() override;

  /// One round. All rounds share the init timeout of open().
  /// @errors   those of Exchange; InvalidArgument (payload); Mismatch (two ranks with one number,
  ///   different numbers of ranks, ranks in different rounds); Aborted (the root gave up).
  Result<std::vector<std::string>> allGather(std::string payload) override;

 private:
  /// A connection to the root, both ends convinced of each other.
  struct Root {
    FileDescriptor socket;
    std::string name;  ///< for messages: who and where it is
  };

  RendezvousSession(Root root, const PeerIdentity& self, Deadline deadline);

  Result<std::vector<std::string>> runRound(std::string payload);
  Status sendJoin(std::string payload) const;
  Result<std::vector<std::string>> receiveEntries() const;

  Root root_;  ///< without a socket after a failure
  PeerIdentity self_;
  Deadline deadline_;
  std::uint32_t round_ = 0;
};

/// Which of the addresses of `place` leads to the root of this job. The root need not be up yet.
/// @param rank, ranks who asks, for messages.
/// @errors   those of RendezvousSession::open().
Result<SocketAddress> probeForRoot(const UniqueIdContent& place,
                                   int rank,
                                   int ranks,
                                   Deadline deadline);

}  // namespace rondo
