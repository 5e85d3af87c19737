#include "src/bootstrap/rendezvous_messages.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "src/bootstrap/status_fields.h"

namespace rondo {

namespace {

void append(std::vector<std::byte>& stream, RendezvousMessage type, const FieldWriter& fields) {
  appendFrame(stream, static_cast<std::uint16_t>(type), fields.bytes());
}

bool is(const Frame& frame, RendezvousMessage type) {
  return frame.type == static_cast<std::uint16_t>(type);
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
  putFailure(fields, failure);
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
  if (is(frame, RendezvousMessage::kFailure)) {
    FieldReader fields(frame.payload);
    return takeFailure(fields);
  }
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
