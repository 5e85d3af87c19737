// What a sender says about a full slot. Apart from transports/connection.h so that device code can
// read it.
#pragma once

#include <cstdint>

namespace rondo {

struct SlotEntry {
  std::uint64_t bytes = 0;  ///< payload in the slot
  std::uint64_t call = 0;   ///< fingerprint of the sender's call (transports/call_record.h)
};

}  // namespace rondo
