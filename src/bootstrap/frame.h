// What is said after the handshake: frames of a type and a bounded number of bytes, and the fields
// within them. Everything here treats its input as hostile: lengths are checked before they are
// believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/deadline.h"
#include "src/status.h"

namespace rondo {

/// No frame's payload is longer.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} * 1024;

/// Before each payload, little-endian: 0 type | 2 zero | 4 length.
struct FrameHeader {
  std::uint16_t type;
  std::uint16_t zero;
  std::uint32_t payloadBytes;
};

static_assert(sizeof(FrameHeader) == 8 && offsetof(FrameHeader, payloadBytes) == 4);

struct Frame {
  std::uint16_t type = 0;
  std::vector<std::byte> payload;
};

/// Puts fields one after the other, little-endian, strings with their length before them.
class FieldWriter {
 public:
  void putU32(std::uint32_t value);
  void putU64(std::uint64_t value);
  void putString(std::string_view text);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes the fields out again. After the first that is not there, all are empty.
class FieldReader {
 public:
  /// @param bytes must outlive this object.
  explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint32_t takeU32();
  std::uint64_t takeU64();
  std::string takeString();

  /// Ok if all fields were there, and nothing else.
  /// @errors   PeerLost.
  Status finish() const;

 private:
  template <class T>
  T takeNumber();

  /// The next `count` bytes; empty, and failed from now on, if there are fewer.
  std::span<const std::byte> take(std::size_t count);

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

/// Appends a frame to `stream`.
/// @param payload at most kMaxFrameBytes.
void appendFrame(std::vector<std::byte>& stream,
                 std::uint16_t type,
                 std::span<const std::byte> payload);

/// Puts one frame together from the bytes of a stream, in pieces of any size.
class FrameReader {
 public:
  /// @param maxPayloadBytes longer frames are refused on sight of their header; at most
  ///   kMaxFrameBytes.
  explicit FrameReader(std::size_t maxPayloadBytes = kMaxFrameBytes);

  /// How many bytes it can use now; 0: the frame is complete, or was refused.
  std::size_t wanted() const { return needed_ - received_.size(); }

  /// Takes at most wanted() bytes.
  /// @errors   PeerLost (the header is none, or promises too much).
  Status receive(std::span<const std::byte> bytes);

  bool complete() const { return complete_; }

  /// The frame; the next one can then be received. Precondition: complete().
  Frame take();

 private:
  Status onHeader();

  std::size_t maxPayloadBytes_;
  std::size_t needed_ = sizeof(FrameHeader);
  std::vector<std::byte> received_;  ///< of the header, then of the payload
  bool inPayload_ = false;
  bool complete_ = false;
  std::uint16_t type_ = 0;
};

/// Receives the next frame from `socket`.
/// @param peer   names the other side in errors.
/// @errors   PeerLost, Timeout.
Result<Frame> receiveFrame(int socket, Deadline deadline, std::string_view peer);

/// Sends one frame.
/// @errors   PeerLost, Timeout.
Status sendFrame(int socket,
                 std::uint16_t type,
                 std::span<const std::byte> payload,
                 Deadline deadline,
                 std::string_view peer);

}  // namespace rondo
