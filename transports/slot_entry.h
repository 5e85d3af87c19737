// What a sender says about a full slot. Apart from transports/connection.h so that device code can
// read it.
#pragma once

#include <cstdint>

namespace rondo {

struct SlotEntry {
  /// Set in `bytes` where the payload is not in the slot but where its place says
  /// (transports/memory_names.h). Never in what a transport carries over a wire.
  static constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 63;

  std::uint64_t bytes = 0;  ///< payload
  std::uint64_t call = 0;   ///< fingerprint of the sender's call (transports/call_record.h)

  constexpr bool isElsewhere() const { return (bytes & kElsewhere) != 0; }

  constexpr std::uint64_t payloadBytes() const { return bytes & ~kElsewhere; }
};

}  // namespace rondo
