// One way by which ranks that are processes reach each other. A transport is one class in one
// folder, made for one rank of one communicator; docs/transports.md tells how to write one, and
// tests/transport/ holds the tests that every one must pass.
//
// The life of one, the same on all ranks:
//
//     made -> offer() -> all ranks get all offers -> open() -> trials, if it tries paths ->
//     connect() as operations need it, progress() while they run -> close() -> destroyed
//
// For each pair of ranks the first transport is used by which both can reach each other, which both
// have opened, and of which no trial has found that it does not lead there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/deadline.h"
#include "src/status.h"
#include "transports/connection.h"
#include "transports/slot_shape.h"

namespace rondo {

/// Slots that crossed between this rank and one peer, over all connections, so far. All four only
/// grow; what this rank knows of the peer lags behind what the peer knows of itself by what is on
/// its way.
struct Traffic {
  std::uint64_t posted = 0;    ///< by this rank to the peer
  std::uint64_t released = 0;  ///< by this rank, of the peer's
  std::uint64_t arrived = 0;   ///< here from the peer
  std::uint64_t credited = 0;  ///< of this rank's, known to be released by the peer
};

/// The longest offer.
inline constexpr std::size_t kMaxOfferBytes = 1024;

/// The longest invitation to trials, and the longest findings.
inline constexpr std::size_t kMaxTrialBytes = 8192;

/// @threads one at a time, unless a member says otherwise.
class Transport {
 public:
  virtual ~Transport() = default;

  /// "shm"; for settings, messages and programs that ask. Static text that ends with a zero.
  virtual std::string_view name() const = 0;

  /// Whether both ends of a connection are the same memory. Then what is posted is there, and the
  /// members from progress() to watch() have nothing to do.
  virtual bool sharesMemory() const = 0;

  /// What others need to know to reach this rank; at most kMaxOfferBytes, not empty.
  /// @errors NotSupported, or whatever keeps this rank from using the transport: it then does
  ///   without.
  virtual Result<std::string> offer() = 0;

  /// Whether rank `peer`, which made `offer`, can be reached. Both ends must answer alike; the own
  /// rank is not asked for.
  virtual bool canReach(int peer, std::string_view offer) const = 0;

  /// Prepares for reaching the ranks that have made an offer and can be reached; each of them does
  /// the same at this moment.
  /// @param offers by rank, the own one too; empty for ranks that cannot be reached.
  /// @errors any: this rank then does without the transport, and so do its peers.
  virtual Status open(const std::vector<std::string>& offers, Deadline deadline) = 0;

  // Trials, for transports whose offers do not tell whether a path leads anywhere. The members are
  // called in this order, on all ranks that have opened the transport; what one returns, all get
  // before the next is called. What is returned has at most kMaxTrialBytes.

  /// Whether it tries paths; the same on all ranks.
  virtual bool triesPaths() const { return false; }

  /// What others need to know in order to try the paths to this rank.
  /// @param opened by rank: whether it takes part; the same on all ranks
  /// @param served by rank: whether this one reaches it by a better transport, so that nothing is
  ///   to be tried between the two
  virtual std::string inviteToTrials(const std::vector<bool>& /*opened*/,
                                     const std::vector<bool>& /*served*/) {
    return {};
  }

  /// Prepares for being tried.
  /// @param invitations by rank
  virtual void acceptTrials(const std::vector<std::string>& /*invitations*/,
                            Deadline /*deadline*/) {}

  /// Tries, for a few seconds at most. @return what was found
  virtual std::string runTrials(Deadline /*deadline*/) { return {}; }

  /// Learns what has been found, and says so in the log if it is bad.
  /// @param findings by rank
  virtual void learnTrials(const std::vector<std::string>& /*findings*/) {}

  /// Why no path to `peer` is left after trials; else empty. Both ends must answer alike.
  virtual std::string whyNoPath(int /*peer*/) const { return {}; }

  /// The memory of the connection from rank `from` to rank `to`, one of which is this one, on
  /// `channel`. Does not wait for the peer to connect. Valid as long as the transport. Each end
  /// asks once.
  /// @errors OutOfMemory: if the ends share memory, both get it, and the next transport is tried;
  ///   else the operation fails, for the other end may have made its own.
  virtual Result<ConnectionMemory> connect(int from, int to, int channel) = 0;

  /// Moves data of connections whose ends do not share memory; not called before there are some,
  /// nor are flushed(), taken() and watch(). Never blocks.
  /// @return whether something moved.
  /// @errors any: the communicator fails. That a peer is gone is no error here, see whyLost().
  virtual Result<bool> progress() { return false; }

  /// True if nothing that was posted waits for a further progress().
  virtual bool flushed() const { return true; }

  /// True if the peers have taken all that was posted, or never will. A rank does not leave before.
  virtual bool taken() const { return true; }

  /// The program has registered `memory`, as number `number`: what is sent from there need not be
  /// copied first, if that can be arranged. While no operation runs.
  virtual void registerMemory(std::uint64_t /*number*/, std::span<const std::byte> /*memory*/) {}

  /// Takes that back; a number that was never told does nothing. On return nothing reads from there
  /// any more for what was posted. While no operation runs.
  virtual void deregisterMemory(std::uint64_t /*number*/) {}

  /// What crossed between this rank and `peer`. @threads any
  virtual Traffic traffic(int /*peer*/) const { return {}; }

  /// True if no progress() can bring any more from `peer`, should it be gone.
  virtual bool drained(int /*peer*/) const { return true; }

  /// Why a connection with `peer` has ended that should not; empty: none has.
  virtual std::string whyLost(int /*peer*/) const { return {}; }

  /// Appends file descriptors that become readable when progress() has something to do.
  virtual void watch(std::vector<int>& /*descriptors*/) const {}

  /// Bytes of memory that this rank holds for it, slots included.
  virtual std::size_t memoryBytes() const = 0;

  /// How much of it is mapped in huge pages, as far as that is known.
  virtual std::size_t hugePageBytes() const { return 0; }

  /// This rank leaves in good order: nothing is posted or received any more. The peers learn what
  /// it released last: it may live on, and they wait for taken().
  virtual void close() {}

 protected:
  Transport() = default;
  Transport(const Transport&) = default;
  Transport& operator=(const Transport&) = default;
};

/// The error of Transport::connect().
inline Status noMemory(int from, int to, int channel, SlotShape slots) {
  return Status::outOfMemory(
      "connection from rank {} to rank {} channel {}: no memory for {} slots of {} bytes", from, to,
      channel, slots.count, slots.bytes);
}

}  // namespace rondo
