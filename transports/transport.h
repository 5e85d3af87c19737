// One way by which ranks that are processes reach each other. A transport is one class in one
// folder, made for one rank of one communicator; docs/transports.md tells how to write one, and
// tests/transport/ holds the tests that every one must pass.
//
// The life of one, the same on all ranks:
//
//     made -> offer() -> all ranks get all offers -> open() -> connect() as operations need it,
//     progress() while they run -> destroyed
//
// For each pair of ranks the first transport is used by which both can reach each other and which
// both have opened.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/deadline.h"
#include "src/status.h"
#include "transports/connection.h"

namespace rondo {

/// The slots of a connection, as the planner counts on them.
struct SlotShape {
  std::size_t bytes = 0;    ///< of each slot, a multiple of 64
  std::uint32_t count = 0;  ///< 2..kMaxSlots; a transport short of memory may make do with 2
};

/// The longest offer.
inline constexpr std::size_t kMaxOfferBytes = 256;

/// @threads one at a time, unless a member says otherwise.
class Transport {
 public:
  virtual ~Transport() = default;

  /// "shm"; for settings and messages. Static text.
  virtual std::string_view name() const = 0;

  /// What others need to know to reach this rank; at most kMaxOfferBytes.
  /// @errors NotSupported, or whatever keeps this rank from using the transport: it then does
  ///   without, and says why in the log.
  virtual Result<std::string> offer() = 0;

  /// Whether rank `peer`, which made `offer`, can be reached. Both ends must answer alike; the own
  /// rank is not asked for.
  virtual bool canReach(int peer, std::string_view offer) const = 0;

  /// Prepares for reaching `peers`, each of which does the same at this moment.
  /// @param offers by rank; empty for ranks that cannot be reached.
  /// @errors any: this rank then does without the transport, and so do its peers.
  virtual Status open(const std::vector<std::string>& offers, Deadline deadline) = 0;

  /// The memory of the connection from rank `from` to rank `to`, one of which is this one, on
  /// `channel`. Returns at once; the peer may connect later. Valid as long as the transport. Each
  /// end is asked for once.
  /// @errors OutOfMemory: both ends get it, and the next transport is tried.
  virtual Result<ConnectionMemory> connect(int from, int to, int channel) = 0;

  /// Moves data of connections whose ends do not share memory. Never blocks.
  /// @return whether something moved.
  /// @errors PeerLost, Mismatch, SystemError: the communicator fails.
  virtual Result<bool> progress() { return false; }

  /// True if nothing that was posted waits for a further progress().
  virtual bool flushed() const { return true; }

  /// True if no progress() can bring any more from `peer`. A transport that cannot tell says true:
  /// then only what else is known of the peer counts.
  virtual bool drained(int /*peer*/) const { return true; }

  /// File descriptors whose readiness means that progress() may have something to do; none for
  /// transports whose ends share memory and ring doorbells.
  virtual void watch(std::vector<int>& /*descriptors*/) const {}

  /// Bytes of memory that this rank holds for it, slots included.
  virtual std::size_t memoryBytes() const = 0;

 protected:
  Transport() = default;
  Transport(const Transport&) = default;
  Transport& operator=(const Transport&) = default;
};

}  // namespace rondo
