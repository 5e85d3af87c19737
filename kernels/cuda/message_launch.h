// What the host hands to the kernel of messages from rank to rank: plain data, as
// kernels/cuda/launch.h has it for collectives. The tables are made for one launch
// (src/cuda/message_tables.h); positions in connections are in the ends, as everywhere.
//
//     MessageArgs --- lanes[b] (MessageLane) --- send[r], recv[r] (End), messages[m] (Message)
//
// Block b of the launch runs lane b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/point_to_point/message_rounds.h"
#include "kernels/cuda/launch.h"

namespace rondo::device {

/// A message of the rank, to or from another one.
struct Message {
  const std::byte* source = nullptr;  ///< of one that is sent
  std::byte* target = nullptr;        ///< of one that is received
  std::uint64_t label = 0;            ///< carried by its slots; both ends must give the same
};

/// A message of the rank to itself.
struct OwnMessage {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t bytes = 0;
};

/// One lane of a group of messages on one rank (collectives/point_to_point/message_rounds.h); an
/// element is a byte. What a Report calls a peer is here the number of a message.
struct MessageLane {
  TableView<MessageRound> rounds;
  TableView<RoundMessage> sends;
  TableView<RoundMessage> recvs;
  TableView<OwnMessage> own;          ///< what this lane copies
  End* const* send = nullptr;         ///< by round; null where nothing is sent
  End* const* recv = nullptr;         ///< by round; null where nothing is received
  const Message* messages = nullptr;  ///< by number
  std::size_t pieceBytes = 1;         ///< most bytes in a slot
  Report* report = nullptr;
};

struct MessageArgs {
  RankWork work;  ///< `call` names the launch in reports; buffers are the messages'
  const MessageLane* lanes = nullptr;
};

static_assert(std::is_trivially_copyable_v<MessageLane>);
static_assert(std::is_trivially_copyable_v<MessageArgs>);

}  // namespace rondo::device
