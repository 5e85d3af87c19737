#include "src/bootstrap/rendezvous_messages.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace rondo {

namespace {

/// Room for every list of ranks that a failure may hold.
constexpr std::size_t kMaxFailureText = 4096;

void append(std::vector<std::byte>& stream, RendezvousMessage type, const FieldWriter& fields) {
  appendFrame(stream, static_cast<std::uint16_t>(type), fields.bytes());
}

bool is(const Frame& frame, RendezvousMessage type) {
  return frame.type == static_cast<std::uint16_t>(type);
}

/// The codes that a root sends; anything else is not believed.
StatusCode checkedCode(std::uint32_t code) {
  for (const StatusCode known :
       {StatusCode::kInvalidArgument, StatusCode::kMismatch, StatusCode::kTimeout,
        StatusCode::kPeerLost, StatusCode::kAborted}) {
    if (static_cast<std::uint32_t>(known) == code) return known;
  }
  return StatusCode::kInternal;
}

Status readFailure(const Frame& frame) {
  FieldReader fields(frame.payload);
  const StatusCode code = checkedCode(fields.takeU32());
  std::string text = fields.takeString();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return {code, std::move(text)};
}

}  // namespace

void appendJoin(std::vector<std::byte>& stream, const JoinMessage& join) {
  constexpr auto kMost = std::chrono::milliseconds{std::numeric_limits<std::uint32_t>::max()};
  FieldWriter fields;
  fields.putU32(join.round);
  fields.putU32(static_cast<std::uint32_t>(std::min(join.patience, kMost).count()));
  fields.putString(join.payload);
  append(stream, RendezvousMessage::kJoin, fields);
}

void appendEntry(std::vector<std::byte>& stream, const EntryMessage& entry) {
  FieldWriter fields;
  fields.putU32(static_cast<std::uint32_t>(entry.rank));
  fields.putString(entry.payload);
  append(stream, RendezvousMessage::kEntry, fields);
}

void appendFailure(std::vector<std::byte>& stream, const Status& failure) {
  FieldWriter fields;
  fields.putU32(static_cast<std::uint32_t>(failure.code()));
  fields.putString(failure.message().substr(0, kMaxFailureText));
  append(stream, RendezvousMessage::kFailure, fields);
}

void appendFarewell(std::vector<std::byte>& stream) {
  append(stream, RendezvousMessage::kFarewell, FieldWriter{});
}

Result<JoinMessage> readJoin(const Frame& frame) {
  if (!is(frame, RendezvousMessage::kJoin)) {
    return Status::peerLost("its message has type {} instead of joining", frame.type);
  }
  FieldReader fields(frame.payload);
  JoinMessage join;
  join.round = fields.takeU32();
  join.patience = std::chrono::milliseconds{fields.takeU32()};
  join.payload = fields.takeString();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return join;
}

bool isFarewell(const Frame& frame) {
  return is(frame, RendezvousMessage::kFarewell);
}

Result<EntryMessage> readEntry(const Frame& frame) {
  if (is(frame, RendezvousMessage::kFailure)) return readFailure(frame);
  if (!is(frame, RendezvousMessage::kEntry)) {
    return Status::peerLost("its message has type {} instead of an answer", frame.type);
  }
  FieldReader fields(frame.payload);
  EntryMessage entry;
  entry.rank = static_cast<int>(fields.takeU32());
  entry.payload = fields.takeString();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return entry;
}

}  // namespace rondo
