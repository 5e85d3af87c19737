// How a sender tells a receiver where a payload lies that it did not copy into a slot: in memory of
// its program's that both can read; or to the adapter that sends it, which then reads it there
// instead of in the sender's slot. Who can read what is the transport's business.
//
// The rules of such slots, which kernels/host/lane.h and src/communicator.cc keep:
//
//   Choice      is the sender's, slot by slot; the receiver takes either. Nothing is agreed upon.
//   Content     own input, or own output whose final value was stored, that stays as it is until
//               the slot is released.
//   Completion  an operation is complete when all such slots that it has sent were released: the
//               program may then change its buffers, or free them.
//   Failure     an operation that fails first withdraws them and waits until nobody reads any
//               (SendEnd::withdraw()): for the same reason.
//
// Where an adapter reads (ConnectionMemory::adapterReads), the receiver gets the payload in a slot,
// and "released" includes that the adapter has read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rondo {

/// Where a payload lies; only the transport that made it understands it.
struct SlotPlace {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
};

/// Between two ranks, of connections on one channel. @threads one at a time for each connection
class MemoryNames {
 public:
  virtual ~MemoryNames() = default;

  /// Sender: how the receiver finds the `bytes` bytes at `data`; empty: it cannot, or not yet.
  virtual std::optional<SlotPlace> nameOf(const std::byte* data, std::size_t bytes) = 0;

  /// Receiver: where what the sender has named lies in this process.
  virtual const std::byte* find(const SlotPlace& place) = 0;

  /// Sender: what it has posted is withdrawn; an adapter that reads has stopped on return.
  virtual void withdraw() {}

 protected:
  MemoryNames() = default;
  MemoryNames(const MemoryNames&) = default;
  MemoryNames& operator=(const MemoryNames&) = default;
};

}  // namespace rondo
