// The unique id: what one rank makes, the program carries to all others by whatever means it has,
// and every rank needs to find and trust the others. It holds a secret: treat it like a password.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "src/bootstrap/secret_key.h"
#include "src/net/socket_address.h"
#include "src/status.h"

namespace rondo {

/// 128 bytes, opaque to programs.
struct UniqueId {
  std::array<std::byte, 128> bytes{};

  friend bool operator==(const UniqueId&, const UniqueId&) = default;
};

static_assert(sizeof(UniqueId) == 128 && std::is_trivially_copyable_v<UniqueId>);

/// What a unique id says.
struct UniqueIdContent {
  /// Where the rendezvous listens: 1 to 3, best first.
  std::vector<SocketAddress> addresses;
  SecretKey secret;
};

/// How many addresses fit.
inline constexpr std::size_t kMostAddresses = 3;

/// Makes an id of `addresses` and a new random secret.
/// @param addresses 1 to kMostAddresses, with ports.
/// @errors   SystemError (no randomness).
Result<UniqueId> makeUniqueId(std::span<const SocketAddress> addresses);

/// Makes an id of `addresses` and a secret that the ranks have already.
/// @param addresses as above.
UniqueId makeUniqueId(std::span<const SocketAddress> addresses, const SecretKey& secret);

/// Reads an id, and checks that it arrived whole.
/// @errors   InvalidArgument: not an id, cut off or changed on its way, or of another version (the
///   message names both).
Result<UniqueIdContent> readUniqueId(const UniqueId& id);

/// One address in an id:
///
///     byte 0 family (4, 6; 0: none) | 1 zero | 2..3 port | 4..19 address, network order
struct WireAddress {
  std::uint8_t family;
  std::uint8_t zero;
  std::uint16_t port;
  std::array<std::uint8_t, 16> bytes;
};

/// The bytes of an id, little-endian:
///
///       0       4        6       8          68       100          120      128
///       | magic | version | zero | 3 addresses | secret | zero (20) | checksum |
///
/// The checksum finds ids that were cut off, say by a copy that stops at a zero byte; it does not
/// protect from anyone.
struct UniqueIdFields {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t zero;
  std::array<WireAddress, kMostAddresses> addresses;
  std::array<std::byte, SecretKey::kBytes> secret;
  std::array<std::uint8_t, 20> reserved;
  std::uint64_t checksum;  ///< of all bytes before it
};

static_assert(sizeof(WireAddress) == 20);
static_assert(sizeof(UniqueIdFields) == sizeof(UniqueId));
static_assert(offsetof(UniqueIdFields, addresses) == 8);
static_assert(offsetof(UniqueIdFields, secret) == 68);
static_assert(offsetof(UniqueIdFields, reserved) == 100);
static_assert(offsetof(UniqueIdFields, checksum) == 120);
static_assert(std::is_trivially_copyable_v<UniqueIdFields>);

}  // namespace rondo
