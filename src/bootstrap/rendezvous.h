// How the ranks of a job find each other: one process makes a unique id and serves a rendezvous;
// every rank joins it and takes part in any number of rounds, in each of which it gives a payload
// of its own and gets everyone's (rendezvous_session.h). What is in the payloads (addresses,
// devices, host identity) is the caller's business.
//
// docs/bootstrap.md tells the whole story, with what strangers can and cannot do.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/memory_order.h"
#include "src/bootstrap/exchange.h"
#include "src/bootstrap/unique_id.h"
#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo {

/// What both sides of a rendezvous may be told.
struct RendezvousSettings {
  /// For a rank to find the root and go through all rounds, from the moment it starts to look for
  /// the root. Zero: for ever.
  std::chrono::milliseconds initTimeout = std::chrono::minutes{5};
  /// Raised when the rank does not want to any more; null: never.
  std::shared_ptr<std::uint32_t> givenUp{};
  /// Which interfaces the root may advertise; see InterfaceRule::pattern. Empty: it chooses.
  std::string interfaces{};
  /// The ports the root may listen on; 0 and 0: any free one.
  int portFirst = 0;
  int portLast = 0;
  /// The one address to put into the id instead of the interfaces': "10.0.0.1", or with a port,
  /// where that is forwarded to the root's. Empty: it chooses.
  std::string advertisedAddress{};
  /// The root's secret instead of a new random one.
  std::optional<SecretKey> secret{};
  /// The one address at which the root listens, and which it advertises; its port does not count.
  /// Empty: all of this host.
  std::optional<SocketAddress> listenAt{};
  /// Whether the root drops whoever does not come over a private network
  /// (SocketAddress::isPrivate).
  bool privateOnly = false;
};

/// The most ranks a rendezvous counts to; far beyond what one root has file descriptors for.
inline constexpr int kMostRanks = 1 << 20;

/// Serves one rendezvous in a thread of its own. The thread ends once all ranks have left, or with
/// this object. The port is free once all ranks have come.
/// @threads any, for the const functions; the thread that destroys it is the last to use it.
class Rendezvous {
 public:
  /// Listens, makes the id and starts to serve.
  /// @errors   InvalidArgument (settings), NotSupported (no libsodium), SystemError (no port, no
  ///   thread).
  static Result<std::unique_ptr<Rendezvous>> start(const RendezvousSettings& settings);

  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  Rendezvous(Rendezvous&&) = delete;
  Rendezvous& operator=(Rendezvous&&) = delete;

  /// Ends the service. Ranks that are owed an answer get it first (a second or two at most); those
  /// that still wait for others get an error.
  ~Rendezvous();

  /// Whether the service is over: all ranks came and have left since.
  bool ended() const { return host::flagRaised(ended_); }

  /// For all ranks. Valid as long as this object.
  const UniqueId& id() const { return id_; }

 private:
  Rendezvous(const UniqueId& id, FileDescriptor stopSignal);

  UniqueId id_;
  FileDescriptor stopSignal_;  ///< an eventfd; readable: the thread shall end
  mutable std::uint32_t ended_ = 0;
  std::thread thread_;
};

/// A RendezvousSession of one round.
/// @param payload at most kMaxExchangeBytes.
/// @return every rank's payload, by rank, the caller's own among them.
/// @threads  any.
/// @errors   those of RendezvousSession::open() and allGather().
Result<std::vector<std::string>> joinRendezvous(const UniqueId& id,
                                                int rank,
                                                int ranks,
                                                std::string payload,
                                                const RendezvousSettings& settings);

}  // namespace rondo
