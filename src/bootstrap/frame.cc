#include "src/bootstrap/frame.h"

#include <bit>
#include <cstring>
#include <utility>

#include "src/net/socket.h"

namespace rondo {

namespace {

static_assert(std::endian::native == std::endian::little, "fields are little-endian everywhere");

void append(std::vector<std::byte>& stream, std::span<const std::byte> bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

}  // namespace

void FieldWriter::putU32(std::uint32_t value) {
  append(bytes_, std::as_bytes(std::span(&value, 1)));
}

void FieldWriter::putU64(std::uint64_t value) {
  append(bytes_, std::as_bytes(std::span(&value, 1)));
}

void FieldWriter::putString(std::string_view text) {
  putU32(static_cast<std::uint32_t>(text.size()));
  append(bytes_, std::as_bytes(std::span(text)));
}

std::span<const std::byte> FieldReader::take(std::size_t count) {
  if (failed_ || count > rest_.size()) {
    failed_ = true;
    return {};
  }
  const std::span<const std::byte> taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

template <class T>
T FieldReader::takeNumber() {
  const std::span<const std::byte> bytes = take(sizeof(T));
  T value = 0;
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::uint32_t FieldReader::takeU32() {
  return takeNumber<std::uint32_t>();
}

std::uint64_t FieldReader::takeU64() {
  return takeNumber<std::uint64_t>();
}

std::string FieldReader::takeString() {
  const std::span<const std::byte> bytes = take(takeU32());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status FieldReader::finish() const {
  if (!failed_ && rest_.empty()) return {};
  return Status::peerLost("its message is {}",
                          failed_ ? "shorter than its fields" : "longer than its fields");
}

void appendFrame(std::vector<std::byte>& stream,
                 std::uint16_t type,
                 std::span<const std::byte> payload) {
  RONDO_CHECK(payload.size() <= kMaxFrameBytes);
  const FrameHeader header{
      .type = type, .zero = 0, .payloadBytes = static_cast<std::uint32_t>(payload.size())};
  append(stream, std::as_bytes(std::span(&header, 1)));
  append(stream, payload);
}

FrameReader::FrameReader(std::size_t maxPayloadBytes) : maxPayloadBytes_(maxPayloadBytes) {
  RONDO_CHECK(maxPayloadBytes <= kMaxFrameBytes);
}

Status FrameReader::receive(std::span<const std::byte> bytes) {
  RONDO_CHECK(bytes.size() <= wanted());
  append(received_, bytes);
  if (complete_ || wanted() > 0) return {};
  if (!inPayload_) return onHeader();
  complete_ = true;
  return {};
}

Status FrameReader::onHeader() {
  if (received_.size() < sizeof(FrameHeader)) return {};  // was refused
  FrameHeader header{};
  std::memcpy(&header, received_.data(), sizeof header);
  received_.clear();
  needed_ = 0;
  if (header.zero != 0) return Status::peerLost("its message has no valid header");
  if (header.payloadBytes > maxPayloadBytes_) {
    return Status::peerLost("its message would have {} bytes, of at most {}", header.payloadBytes,
                            maxPayloadBytes_);
  }
  type_ = header.type;
  inPayload_ = true;
  needed_ = header.payloadBytes;
  complete_ = needed_ == 0;
  return {};
}

Frame FrameReader::take() {
  RONDO_CHECK(complete_);
  Frame frame{.type = type_, .payload = std::exchange(received_, {})};
  needed_ = sizeof(FrameHeader);
  inPayload_ = false;
  complete_ = false;
  return frame;
}

Result<Frame> receiveFrame(int socket, Deadline deadline, std::string_view peer) {
  FrameReader reader;
  while (!reader.complete()) {
    std::vector<std::byte> bytes(reader.wanted());
    RONDO_RETURN_IF_ERROR(recvAll(socket, bytes, deadline, peer));
    if (Status status = reader.receive(bytes); !status.ok()) {
      return std::move(status).withContext(peer);
    }
  }
  return reader.take();
}

Status sendFrame(int socket,
                 std::uint16_t type,
                 std::span<const std::byte> payload,
                 Deadline deadline,
                 std::string_view peer) {
  std::vector<std::byte> stream;
  appendFrame(stream, type, payload);
  return sendAll(socket, stream, deadline, peer);
}

}  // namespace rondo
