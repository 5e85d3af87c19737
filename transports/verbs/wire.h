// What crosses a connection over verbs. By its queue pair, which keeps the order of what one end
// sends:
//
//     sender -> receiver   for filling k: RDMA WRITE of the payload into slot k mod slots, then
//                          RDMA WRITE WITH IMMEDIATE of its SlotEntry into header k mod slots;
//                          immediate: k
//     receiver -> sender   SEND WITH IMMEDIATE of nothing; immediate: slots released so far
//
// By its socket, as frames: each end's Endpoint, the sender's first; then nothing until one end
// closes and says how far it has got (Goodbye). Its end without that is the end of a process.
//
// An end for which the adapter has no memory or no queue pair says Detour instead; a receiver
// also answers a Detour with one. The sender answers the receiver's with one more, and from then on
// the socket carries what tcp's do (transports/tcp/wire.h).
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "src/bootstrap/frame.h"
#include "src/status.h"
#include "transports/slot_entry.h"
#include "transports/verbs/reach.h"

namespace rondo::verbs {

/// Frame::type. Apart from those of rendezvous and control plane.
enum class WireMessage : std::uint16_t { kEndpoint = 64, kGoodbye = 65, kDetour = 66 };

/// An end of a connection, as the other needs to know it.
struct Endpoint {
  std::uint32_t queuePair = 0;
  std::uint32_t firstPacket = 0;  ///< 24 bits
  std::uint32_t lid = 0;          ///< of an InfiniBand port
  Gid gid{};
  std::uint32_t mtu = 0;  ///< ibv_mtu
  std::uint32_t slots = 0;
  /// Of a receiver: where its memory is.
  std::uint32_t key = 0;
  std::uint64_t slotsAddress = 0;
  std::uint64_t headersAddress = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// What is written beside each slot; a slot and its header are used by the same filling.
static_assert(sizeof(SlotEntry) == 16 && std::is_trivially_copyable_v<SlotEntry>);

void appendEndpoint(std::vector<std::byte>& stream, const Endpoint& endpoint);

/// @param count of a sender: slots sent; of a receiver: slots released
void appendGoodbye(std::vector<std::byte>& stream, std::uint64_t count);

void appendDetour(std::vector<std::byte>& stream);

/// @errors PeerLost: it is no such message, or one with impossible numbers.
Result<Endpoint> readEndpoint(const Frame& frame);
Result<std::uint64_t> readGoodbye(const Frame& frame);

/// The number of which `low` has the lower 32 bits, and which is `before` or follows it within
/// 2^32.
constexpr std::uint64_t widen(std::uint32_t low, std::uint64_t before) {
  return before + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(before));
}

}  // namespace rondo::verbs
