#include "src/control/messages.h"

#include <utility>

#include "src/bootstrap/status_fields.h"
#include "transports/connection.h"

namespace rondo {

namespace {

void append(std::vector<std::byte>& stream, ControlMessage type, const FieldWriter& fields) {
  appendFrame(stream, static_cast<std::uint16_t>(type), fields.bytes());
}

}  // namespace

void appendAsk(std::vector<std::byte>& stream) {
  append(stream, ControlMessage::kAsk, FieldWriter());
}

void appendNews(std::vector<std::byte>& stream, ControlMessage type, const RankNews& news) {
  FieldWriter fields;
  for (const std::uint64_t word : news.record)
    fields.putU64(word);
  fields.putU64(news.posted);
  fields.putU64(news.released);
  append(stream, type, fields);
}

void appendOpenData(std::vector<std::byte>& stream, const OpenData& open) {
  FieldWriter fields;
  fields.putU32(static_cast<std::uint32_t>(open.channel));
  fields.putU64(open.slotBytes);
  fields.putU32(open.slotCount);
  append(stream, ControlMessage::kOpenData, fields);
}

void appendControlFailure(std::vector<std::byte>& stream, const Status& failure) {
  FieldWriter fields;
  putFailure(fields, failure);
  append(stream, ControlMessage::kFailure, fields);
}

Result<RankNews> readNews(const Frame& frame) {
  FieldReader fields(frame.payload);
  RankNews news;
  for (std::uint64_t& word : news.record)
    word = fields.takeU64();
  news.posted = fields.takeU64();
  news.released = fields.takeU64();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return news;
}

Result<OpenData> readOpenData(const Frame& frame) {
  if (frame.type != static_cast<std::uint16_t>(ControlMessage::kOpenData)) {
    return Status::peerLost("its message has type {} instead of opening a data connection",
                            frame.type);
  }
  FieldReader fields(frame.payload);
  OpenData open;
  const std::uint32_t channel = fields.takeU32();
  open.slotBytes = static_cast<std::size_t>(fields.takeU64());
  open.slotCount = fields.takeU32();
  RONDO_RETURN_IF_ERROR(fields.finish());
  if (channel >= static_cast<std::uint32_t>(kMaxConnections)) {
    return Status::peerLost("its message opens channel {} of at most {}", channel, kMaxConnections);
  }
  open.channel = static_cast<int>(channel);
  return open;
}

Status readControlFailure(const Frame& frame) {
  FieldReader fields(frame.payload);
  return takeFailure(fields);
}

}  // namespace rondo
