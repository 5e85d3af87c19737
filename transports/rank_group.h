// What the ranks of one communicator share, as one process sees it: the interface that a transport
// offers to the communicator. The transport decides whose memory it is and how it crosses between
// ranks; everything above works on connections, call records and the one failure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/host/wait_place.h"
#include "src/status.h"
#include "transports/call_record.h"
#include "transports/connection.h"
#include "transports/mailbox.h"

namespace rondo {

/// Memory that connections take.
struct TransportMemory {
  std::string_view transport;  ///< its name; static text that ends with a zero
  std::size_t bytes = 0;
};

/// @threads all members may be called by all ranks of the process at the same time.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  /// The connection from rank `from` to rank `to` on `channel`, one of which is a rank of this
  /// process. Both ends get the same memory, which lives as long as the group.
  /// @errors OutOfMemory
  virtual Result<ConnectionMemory> connection(int from, int to, int channel) = 0;

  /// The mailbox of `rank`, which lives as long as the group; empty unless all ranks share memory.
  /// The same on all ranks.
  virtual std::optional<MailboxMemory> mailbox(int /*rank*/) { return std::nullopt; }

  /// The line of `rank`; only that rank may change it. Of a rank that shares no memory with this
  /// one it is what was last heard of it.
  virtual CallRecord& record(int rank) = 0;

  /// Has the record of `rank` brought up to date, if it is not by itself; returns at once.
  virtual void refresh(int /*rank*/) {}

  /// The same, but waits until it is, or for `atMost`, or until nothing can be heard of `rank`.
  virtual void awaitRefreshed(int /*rank*/, std::chrono::milliseconds /*atMost*/) {}

  /// Has refresh() reach `rank`, even if no connection leads there.
  /// @errors Timeout, the failure of the group
  virtual Status keepInTouch(int /*rank*/) { return {}; }

  /// True if slots that `rank` had posted or released when its record was brought up to date may
  /// not have come here yet.
  virtual bool mayBeOnItsWay(int /*rank*/) { return false; }

  /// Whether connections that were made need the progress() of their rank's wait place. @threads
  /// any, but none that makes connections meanwhile
  virtual bool needsProgress() const { return false; }

  /// The name of the transport that leads to `rank`, which is not the one that asks. Static
  /// text that ends with a zero. @threads any
  virtual std::string_view transportTo(int rank) const = 0;

  /// Why nothing more can come from `rank`, such as "its process has ended", and who can tell more;
  /// empty as long as something can, or `rank` has left in good order.
  virtual std::string whyLost(int rank) = 0;

  /// "ranks 2 and 3": to whom something posted is still on its way, for messages; may be empty.
  virtual std::string describeUnsent() const { return {}; }

  /// Those ranks.
  virtual std::vector<int> ranksThatHaveNotTaken() const { return {}; }

  /// `rank`, one of this process, has registered `memory`, as number `number`: what is sent from
  /// there need not be copied first, if that can be arranged. @threads its rank's, while it runs no
  /// operation
  virtual void registerMemory(int /*rank*/,
                              std::uint64_t /*number*/,
                              std::span<const std::byte> /*memory*/) {}

  /// Takes that back. On return nothing reads from there any more for what was posted. @threads its
  /// rank's, while it runs no operation
  virtual void deregisterMemory(int /*rank*/, std::uint64_t /*number*/) {}

  /// Where `rank`, one of this process, waits for its peers. Valid as long as the group.
  virtual host::WaitPlace& waitPlace(int rank) = 0;

  /// `rank`, one of this process, gives up the communicator in good order. May wait until the
  /// others have taken what it sent.
  virtual void leave(int rank) { record(rank).leave(); }

  /// What connections take now, by transport. @threads one that makes no connection meanwhile
  virtual std::vector<TransportMemory> memory() const = 0;

  /// "ranks 1 to 3 over shm; memory 2.1 MiB": who is reached how, for the log.
  virtual std::string describe() const = 0;

  /// Ends the communicator for all ranks with `failure`, and wakes those that sleep. Only the first
  /// failure counts.
  virtual void fail(const Status& failure) = 0;

  /// Raised by fail(); looked at by every wait. Valid as long as the group.
  virtual std::uint32_t& failedFlag() = 0;

  /// The failure that ended the communicator, or ok.
  virtual Status failure() const = 0;

 protected:
  RankGroup() = default;
  RankGroup(const RankGroup&) = default;
  RankGroup& operator=(const RankGroup&) = default;
};

}  // namespace rondo
