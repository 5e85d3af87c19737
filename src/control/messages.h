// What ranks say to each other besides data: over control links, as frames (src/bootstrap/frame.h).
//
//     Ask      -> News        what are you doing?
//     Failure                 the communicator has failed; passed on to all
//     Goodbye                 this rank leaves in good order; the end of the link is no failure
//     OpenData                first on a data connection: which one it is
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/bootstrap/frame.h"
#include "src/status.h"
#include "transports/call_record.h"

namespace rondo {

/// Frame::type. Apart from those of a rendezvous, so that neither is taken for the other.
enum class ControlMessage : std::uint16_t {
  kAsk = 32,
  kNews = 33,
  kFailure = 34,
  kGoodbye = 35,
  kOpenData = 36,
};

/// No control frame's payload is longer.
inline constexpr std::size_t kMaxControlBytes = 8192;

/// What a rank says about itself.
struct RankNews {
  CallRecord::Words record{};  ///< its call record
  /// Slots that it has posted to the asker, and slots of the asker's that it has released, on all
  /// connections that do not share memory, so far.
  std::uint64_t posted = 0;
  std::uint64_t released = 0;

  friend bool operator==(const RankNews&, const RankNews&) = default;
};

/// Whose connection it is: what is said on its socket after it was opened.
enum class DataWire : std::uint32_t { kTcp = 1, kVerbs = 2 };

/// Which connection a socket is to carry.
struct OpenData {
  DataWire wire = DataWire::kTcp;
  int channel = 0;
  std::size_t slotBytes = 0;
  std::uint32_t slotCount = 0;

  friend bool operator==(const OpenData&, const OpenData&) = default;
};

/// Append a message, as a frame, to `stream`.
void appendAsk(std::vector<std::byte>& stream);
void appendNews(std::vector<std::byte>& stream, ControlMessage type, const RankNews& news);
void appendOpenData(std::vector<std::byte>& stream, const OpenData& open);

/// @param failure not ok; its text is cut to what a frame holds.
void appendControlFailure(std::vector<std::byte>& stream, const Status& failure);

/// @errors PeerLost: not such a message.
Result<RankNews> readNews(const Frame& frame);
Result<OpenData> readOpenData(const Frame& frame);

/// The failure that a frame tells of; PeerLost if it tells of none. Never ok.
Status readControlFailure(const Frame& frame);

}  // namespace rondo
