// Connections between ranks of one process whose memory is on CUDA devices: plain pointers. What
// the receiver polls and reads lies on its device, what the sender polls on the sender's, so that
// nobody polls across a link; where two devices have no way to each other, everything lies in
// pinned memory of the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "kernels/cuda/launch.h"
#include "src/cuda/device.h"
#include "src/status.h"
#include "transports/transport.h"

namespace rondo::cuda {

/// @threads any
class ProcessLinks {
 public:
  /// @param devices by rank
  ProcessLinks(std::vector<std::shared_ptr<const Device>> devices, SlotShape slots);

  /// The sending end of the connection from rank `from` to rank `to` on `channel`, for kernels of
  /// `from`'s device. Its memory lives as long as this object.
  /// @errors OutOfMemory, SystemError.
  Result<device::End> sendEnd(int from, int to, int channel);

  /// The receiving end, for kernels of `to`'s device.
  Result<device::End> recvEnd(int from, int to, int channel);

  /// Bytes of memory of all connections.
  std::size_t memoryBytes() const;

  /// Never frees the connections: kernels that do not end may still use them.
  void leaveBehind();

 private:
  using Key = std::tuple<int, int, int>;  // from, to, channel

  /// The memory of a connection; for two devices without a way to each other both parts are the
  /// host's.
  struct Wire {
    Memory received;  ///< tail, entries, slots, lines
    Memory credits;   ///< head
  };

  Result<const Wire*> wire(int from, int to, int channel);
  Result<Wire> makeWire(int from, int to);
  Result<bool> reachEachOther(const Device& one, const Device& other);
  device::End endOf(const Wire& wire, int peer) const;

  const Device& device(int rank) const { return *devices_[static_cast<std::size_t>(rank)]; }

  std::vector<std::shared_ptr<const Device>> devices_;
  SlotShape slots_;
  mutable std::mutex mutex_;
  std::map<Key, Wire> wires_;
  bool saidFar_ = false;  // that two devices have no way to each other
};

}  // namespace rondo::cuda
