#include "src/bootstrap/unique_id.h"

#include <algorithm>
#include <bit>

#include <string.h>

#include "src/bootstrap/random_bytes.h"

namespace rondo {

namespace {

static_assert(std::endian::native == std::endian::little, "ids are little-endian on every host");

constexpr std::uint32_t kMagic = 0x31444952;  // "RID1"
/// Raised whenever the layout or the meaning of an id changes.
constexpr std::uint16_t kVersion = 1;

/// FNV-1a (Fowler, Noll, Vo) of all bytes before the checksum.
std::uint64_t checksumOf(const UniqueIdFields& fields) {
  const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof fields>>(fields);
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t at = 0; at < offsetof(UniqueIdFields, checksum); ++at) {
    hash = (hash ^ bytes[at]) * 0x100000001b3ULL;
  }
  return hash;
}

WireAddress toWire(const SocketAddress& address) {
  WireAddress wire{.family = static_cast<std::uint8_t>(address.family()),
                   .zero = 0,
                   .port = address.port(),
                   .bytes = {}};
  std::copy_n(address.bytes().begin(), wire.bytes.size(), wire.bytes.begin());
  return wire;
}

bool isKnownFamily(std::uint8_t family) {
  return family == static_cast<std::uint8_t>(AddressFamily::kIpv4) ||
         family == static_cast<std::uint8_t>(AddressFamily::kIpv6);
}

/// No part of the id is in these messages: any of it could be the secret.
Status checkFields(const UniqueIdFields& fields) {
  if (fields.magic != kMagic) {
    return Status::invalidArgument(
        "this is no unique id; pass all 128 bytes, as they were made, to every rank");
  }
  if (fields.version != kVersion) {
    return Status::invalidArgument(
        "the unique id has version {}, this library reads version {}; use one version of the "
        "library on all ranks",
        fields.version, kVersion);
  }
  if (fields.checksum != checksumOf(fields)) {
    return Status::invalidArgument(
        "the unique id was changed or cut off on its way; copy all 128 bytes, some of which are "
        "zero");
  }
  return {};
}

}  // namespace

Result<UniqueId> makeUniqueId(std::span<const SocketAddress> addresses) {
  std::array<std::byte, SecretKey::kBytes> secret;
  RONDO_RETURN_IF_ERROR(fillRandom(secret));
  const UniqueId id = makeUniqueId(addresses, SecretKey(secret));
  ::explicit_bzero(secret.data(), secret.size());
  return id;
}

UniqueId makeUniqueId(std::span<const SocketAddress> addresses, const SecretKey& secret) {
  RONDO_CHECK(!addresses.empty() && addresses.size() <= kMostAddresses);
  UniqueIdFields fields{};
  fields.magic = kMagic;
  fields.version = kVersion;
  std::transform(addresses.begin(), addresses.end(), fields.addresses.begin(), toWire);
  std::copy(secret.bytes().begin(), secret.bytes().end(), fields.secret.begin());
  fields.checksum = checksumOf(fields);
  return std::bit_cast<UniqueId>(fields);
}

Result<UniqueIdContent> readUniqueId(const UniqueId& id) {
  const auto fields = std::bit_cast<UniqueIdFields>(id);
  RONDO_RETURN_IF_ERROR(checkFields(fields));
  UniqueIdContent content{.addresses = {}, .secret = SecretKey(fields.secret)};
  for (const WireAddress& wire : fields.addresses) {
    if (!isKnownFamily(wire.family) || wire.port == 0) continue;
    content.addresses.push_back(
        SocketAddress::fromBytes(static_cast<AddressFamily>(wire.family), wire.bytes, wire.port));
  }
  if (content.addresses.empty()) {
    return Status::invalidArgument("the unique id holds no address that this library can use");
  }
  return content;
}

}  // namespace rondo
