// What a rank and the root of a rendezvous say to each other after the handshake: in each round one
// Join, and in return either one Entry per rank, in order, or one Failure. A rank that wants no
// more rounds says Farewell and closes the connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/bootstrap/exchange.h"
#include "src/bootstrap/frame.h"
#include "src/bootstrap/rendezvous.h"
#include "src/status.h"

namespace rondo {

/// Frame::type.
enum class RendezvousMessage : std::uint16_t { kJoin = 1, kEntry = 2, kFailure = 3, kFarewell = 4 };

/// A rank arrives.
struct JoinMessage {
  std::uint32_t round = 0;                ///< that the rank believes to be the current one
  std::chrono::milliseconds patience{0};  ///< how long it will wait; zero: for ever
  std::string payload{};
};

/// One rank's payload, for all.
struct EntryMessage {
  int rank = 0;
  std::string payload;
};

/// The longest payload of a Join frame: three fields before the rank's payload.
inline constexpr std::size_t kMaxJoinBytes = kMaxExchangeBytes + 3 * sizeof(std::uint32_t);

/// Append a message, as a frame, to `stream`.
void appendJoin(std::vector<std::byte>& stream, const JoinMessage& join);
void appendEntry(std::vector<std::byte>& stream, const EntryMessage& entry);

void appendFarewell(std::vector<std::byte>& stream);

/// @param failure not ok; its text is cut to what a frame holds.
void appendFailure(std::vector<std::byte>& stream, const Status& failure);

/// @errors   PeerLost: not such a message.
Result<JoinMessage> readJoin(const Frame& frame);

/// Whether this is a Farewell. What else is in its frame does not matter: the connection ends.
bool isFarewell(const Frame& frame);

/// @errors   PeerLost: neither an Entry nor a Failure; or the Failure that it is.
Result<EntryMessage> readEntry(const Frame& frame);

}  // namespace rondo
