#include "transports/verbs/wire.h"

#include <cstring>
#include <string>

#include <infiniband/verbs.h>

#include "transports/connection.h"

namespace rondo::verbs {

namespace {

void append(std::vector<std::byte>& stream, WireMessage type, const FieldWriter& fields) {
  appendFrame(stream, static_cast<std::uint16_t>(type), fields.bytes());
}

bool isPlausible(const Endpoint& endpoint) {
  constexpr std::uint32_t kMost24 = 0xffffff;
  return endpoint.queuePair <= kMost24 && endpoint.firstPacket <= kMost24 &&
         endpoint.lid <= 0xffff && endpoint.mtu >= IBV_MTU_256 && endpoint.mtu <= IBV_MTU_4096 &&
         endpoint.slots > 0 && endpoint.slots <= kMaxSlots;
}

}  // namespace

void appendEndpoint(std::vector<std::byte>& stream, const Endpoint& endpoint) {
  FieldWriter fields;
  fields.putU32(endpoint.queuePair);
  fields.putU32(endpoint.firstPacket);
  fields.putU32(endpoint.lid);
  fields.putString({reinterpret_cast<const char*>(endpoint.gid.data()), endpoint.gid.size()});
  fields.putU32(endpoint.mtu);
  fields.putU32(endpoint.slots);
  fields.putU32(endpoint.key);
  fields.putU64(endpoint.slotsAddress);
  fields.putU64(endpoint.headersAddress);
  append(stream, WireMessage::kEndpoint, fields);
}

void appendGoodbye(std::vector<std::byte>& stream, std::uint64_t count) {
  FieldWriter fields;
  fields.putU64(count);
  append(stream, WireMessage::kGoodbye, fields);
}

void appendDetour(std::vector<std::byte>& stream) {
  append(stream, WireMessage::kDetour, FieldWriter());
}

Result<Endpoint> readEndpoint(const Frame& frame) {
  FieldReader fields(frame.payload);
  Endpoint endpoint;
  endpoint.queuePair = fields.takeU32();
  endpoint.firstPacket = fields.takeU32();
  endpoint.lid = fields.takeU32();
  const std::string gid = fields.takeString();
  endpoint.mtu = fields.takeU32();
  endpoint.slots = fields.takeU32();
  endpoint.key = fields.takeU32();
  endpoint.slotsAddress = fields.takeU64();
  endpoint.headersAddress = fields.takeU64();
  RONDO_RETURN_IF_ERROR(fields.finish());
  if (gid.size() != endpoint.gid.size() || !isPlausible(endpoint)) {
    return Status::peerLost("it describes an impossible end of a connection");
  }
  std::memcpy(endpoint.gid.data(), gid.data(), gid.size());
  return endpoint;
}

Result<std::uint64_t> readGoodbye(const Frame& frame) {
  FieldReader fields(frame.payload);
  const std::uint64_t count = fields.takeU64();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return count;
}

}  // namespace rondo::verbs
