// The connections of one rank whose memory is on a CUDA device. What the receiver polls and reads
// lies on its device, what the sender polls on the sender's, so that nobody polls across a link;
// the two tell each other where. Where two ranks have no such way, kernels use a connection of the
// transports of the host, whose memory is mapped for them.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cuda/launch.h"
#include "src/bootstrap/exchange.h"
#include "transports/connection.h"
#include "transports/cuda_ipc/device_ways.h"
#include "transports/cuda_ipc/link_gift.h"
#include "transports/rank_group.h"
#include "transports/slot_shape.h"

namespace rondo::cuda {

/// One end of a connection, as the rank calls it that has it.
struct EndName {
  int peer = 0;
  int channel = 0;
  bool sends = false;

  auto operator<=>(const EndName&) const = default;
};

/// Among a rank and others that do the same, each of which gives the rank a block and gets one.
/// @param peers  in any order
/// @param own    for each of them, one behind the other, all equally long
/// @param theirs receives what they gave, likewise
using SwapBytes = std::function<Status(
    std::span<const int> peers, std::span<const std::byte> own, std::span<std::byte> theirs)>;

/// @threads one at a time
class DeviceLinks {
 public:
  DeviceLinks(DeviceRank self, std::shared_ptr<RankGroup> group, SlotShape slots);

  const DeviceRank& self() const { return self_; }

  /// Finds out how ranks reach each other, before anything else. Collective.
  /// @errors OutOfMemory, SystemError, those of `gather`.
  Status meet(const GatherBytes& gather);

  /// The same where somebody else has found it out for all ranks.
  void meet(const DeviceWays& ways) { ways_ = ways; }

  /// Whether a transport of the host leads to `peer`. @threads any, once the ranks have met
  bool overWireTo(int peer) const { return self_.acrossProcesses && overWire(peer); }

  /// "kernels reach ranks 1, 2 directly", for the log.
  std::string describe() const;

  /// Makes those of `wanted` that are not there yet. Collective; all ranks have theirs when it
  /// returns. No kernel of this process may run that waits for another rank: the driver may wait
  /// for it before it gives memory.
  /// @errors OutOfMemory, SystemError, those of `gather`.
  Status connect(std::span<const EndName> wanted, const GatherBytes& gather);

  /// Makes the connections for messages to and from `peers`, which do the same meanwhile: of other
  /// ranks nobody need take part. Rules and errors as for connect().
  /// @param peers to whom there are none yet; others than this rank
  Status connectMessages(std::span<const int> peers, const SwapBytes& swap);

  /// Whether there are connections for messages with `peer`.
  bool hasMessagesWith(int peer) const {
    return ends_.contains({peer, kDeviceMessageChannel, true});
  }

  /// For kernels of the rank; lives as long as this object. Only of what was connected.
  const device::End& end(const EndName& name) const { return ends_.at(name); }

  /// Whether all ranks' connections have lines; the same on all ranks, once they have met.
  bool carriesLines() const { return !self_.acrossProcesses || !ways_->anyWire(); }

  /// Whether other processes were given memory of this rank's device.
  bool haveGiven() const { return given_; }

  /// Ranks of other processes that may have opened memory of this one.
  std::vector<int> openedBy() const;

  /// Closes what other processes have given.
  void closeOpened() { opened_.clear(); }

  /// Bytes of memory of all connections, on the device or pinned.
  std::size_t memoryBytes() const;

  /// Never frees what others may still use.
  void leaveGivenBehind();

  /// Never frees any of them: kernels of this rank may still use them.
  void leaveBehind();

 private:
  class Opened;

  /// What this rank gives, and where it is.
  struct Given {
    LinkGift gift;
    std::array<SharedMemory, kPools> pools;
  };

  Result<Given> give(std::span<const EndName> fresh);
  Result<SharedMemory> makePool(Pool pool, std::size_t bytes);
  Status link(const EndName& name, const Given& own, Opened& others);
  Status connectOverWire(const EndName& name);
  Result<std::byte*> map(void* memory, std::size_t bytes);

  Way wayTo(int peer) const { return ways_->between(self_.rank, peer); }

  bool overWire(int peer) const { return wayTo(peer) == Way::kWire; }

  DeviceRank self_;
  std::uint64_t host_;  // hash of its identity
  std::shared_ptr<RankGroup> group_;
  SlotShape slots_;
  std::optional<DeviceWays> ways_;  // once the ranks have met
  std::map<EndName, device::End> ends_;
  std::vector<SharedMemory> own_;
  bool given_ = false;
  std::vector<SharedMemory> opened_;
  std::vector<Memory> mapped_;
};

}  // namespace rondo::cuda
