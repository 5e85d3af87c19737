// Where a TCP socket is: an IPv4 or IPv6 address and a port. Numbers only; a host's own name is
// never looked up, because it often leads to 127.0.1.1 or nowhere. Other hosts': name_resolution.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "src/status.h"

namespace rondo {

/// The values are those of the wire.
enum class AddressFamily : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };

/// An address as the system's calls take it.
struct NativeAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A value: copies and compares as one. An IPv4 address mapped into IPv6 becomes IPv4.
class SocketAddress {
 public:
  /// 0.0.0.0:0.
  SocketAddress() = default;

  /// Reads "10.0.0.1:4000" or "[fd00::1]:4000".
  /// @errors   InvalidArgument, saying what is accepted.
  static Result<SocketAddress> parse(std::string_view text);

  /// Reads "10.0.0.1", "fd00::1" or "[fd00::1]"; a link-local one may name its interface after a %.
  /// The port is 0.
  static std::optional<SocketAddress> parseHost(std::string_view host);

  /// The address `native` holds; nothing for other families than IPv4 and IPv6.
  static std::optional<SocketAddress> fromNative(const sockaddr* native);

  /// The address of these bytes in network order: the first 4 for IPv4, all 16 for IPv6.
  static SocketAddress fromBytes(AddressFamily family,
                                 std::span<const std::uint8_t, 16> bytes,
                                 std::uint16_t port);

  /// 127.0.0.1 or ::1.
  static SocketAddress loopback(AddressFamily family, std::uint16_t port = 0);

  /// 0.0.0.0 or ::, which is every address of the host.
  static SocketAddress any(AddressFamily family, std::uint16_t port = 0);

  AddressFamily family() const { return family_; }

  std::uint16_t port() const { return port_; }

  /// In network order; IPv4 in the first 4, zeros after it.
  std::span<const std::uint8_t, 16> bytes() const { return bytes_; }

  /// The same address at another port.
  SocketAddress withPort(std::uint16_t port) const;

  bool isLoopback() const;

  /// 169.254/16 or fe80::/10: of use on one cable only.
  bool isLinkLocal() const;

  /// Of use within one site only: loopback, link-local, RFC 1918 or fc00::/7.
  bool isPrivate() const;

  NativeAddress native() const;

  /// "10.0.0.1" or "fd00::1".
  std::string hostText() const;

  /// "10.0.0.1:4000" or "[fd00::1]:4000".
  std::string text() const;

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;

 private:
  AddressFamily family_ = AddressFamily::kIpv4;
  std::uint16_t port_ = 0;
  std::uint32_t scope_ = 0;  ///< index of the interface of a link-local IPv6 address
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace rondo
