#include "src/net/socket_address.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

namespace rondo {

namespace {

constexpr std::size_t kIpv4Bytes = 4;
/// The first twelve bytes of ::ffff:a.b.c.d.
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<std::uint16_t> parsePort(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || stop != end || port == 0) return std::nullopt;
  return port;
}

Status badAddress(std::string_view text) {
  return Status::invalidArgument(
      "\"{}\" is no address; write a number and a port, as in 10.0.0.1:4000 or [fd00::1]:4000",
      text);
}

}  // namespace

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return badAddress(text);
  const std::string_view host = text.substr(0, colon);
  const std::optional<std::uint16_t> port = parsePort(text.substr(colon + 1));
  const std::optional<SocketAddress> address = parseHost(host);
  if (!port || !address) return badAddress(text);
  // "fd00::1:4000" is an address without a port; only brackets make it clear.
  if (host.find(':') != std::string_view::npos && host.front() != '[') return badAddress(text);
  return address->withPort(*port);
}

std::optional<SocketAddress> SocketAddress::parseHost(std::string_view host) {
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const std::size_t percent = std::min(host.find('%'), host.size());
  const std::string number(host.substr(0, percent));
  const std::string interface(host.substr(std::min(percent + 1, host.size())));

  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (!bracketed && interface.empty() && inet_pton(AF_INET, number.c_str(), &v4.sin_addr) == 1) {
    return fromNative(reinterpret_cast<const sockaddr*>(&v4));
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, number.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  if (!interface.empty()) v6.sin6_scope_id = if_nametoindex(interface.c_str());
  return fromNative(reinterpret_cast<const sockaddr*>(&v6));
}

std::optional<SocketAddress> SocketAddress::fromNative(const sockaddr* native) {
  SocketAddress address;
  if (native->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, native, sizeof v4);
    address.port_ = ntohs(v4.sin_port);
    std::memcpy(address.bytes_.data(), &v4.sin_addr, kIpv4Bytes);
    return address;
  }
  if (native->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, native, sizeof v6);
  address.port_ = ntohs(v6.sin6_port);
  std::memcpy(address.bytes_.data(), &v6.sin6_addr, address.bytes_.size());
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes_.begin())) {
    std::copy_n(address.bytes_.begin() + kMapped.size(), kIpv4Bytes, address.bytes_.begin());
    std::fill(address.bytes_.begin() + kIpv4Bytes, address.bytes_.end(), std::uint8_t{0});
    return address;
  }
  address.family_ = AddressFamily::kIpv6;
  if (address.isLinkLocal()) address.scope_ = v6.sin6_scope_id;
  return address;
}

SocketAddress SocketAddress::fromBytes(AddressFamily family,
                                       std::span<const std::uint8_t, 16> bytes,
                                       std::uint16_t port) {
  SocketAddress address;
  address.family_ = family;
  address.port_ = port;
  const std::size_t used = family == AddressFamily::kIpv4 ? kIpv4Bytes : bytes.size();
  std::copy_n(bytes.begin(), used, address.bytes_.begin());
  return address;
}

SocketAddress SocketAddress::loopback(AddressFamily family, std::uint16_t port) {
  std::array<std::uint8_t, 16> bytes{};
  if (family == AddressFamily::kIpv4) {
    bytes[0] = 127;
    bytes[3] = 1;
  } else {
    bytes[15] = 1;
  }
  return fromBytes(family, bytes, port);
}

SocketAddress SocketAddress::any(AddressFamily family, std::uint16_t port) {
  return fromBytes(family, std::array<std::uint8_t, 16>{}, port);
}

SocketAddress SocketAddress::withPort(std::uint16_t port) const {
  SocketAddress address = *this;
  address.port_ = port;
  return address;
}

bool SocketAddress::isLoopback() const {
  return family_ == AddressFamily::kIpv4 ? bytes_[0] == 127 : bytes_ == loopback(family_).bytes_;
}

bool SocketAddress::isLinkLocal() const {
  if (family_ == AddressFamily::kIpv4) return bytes_[0] == 169 && bytes_[1] == 254;
  return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool SocketAddress::isPrivate() const {
  if (isLoopback() || isLinkLocal()) return true;
  if (family_ == AddressFamily::kIpv6) return (bytes_[0] & 0xfeU) == 0xfcU;
  return bytes_[0] == 10 || (bytes_[0] == 172 && (bytes_[1] & 0xf0U) == 16) ||
         (bytes_[0] == 192 && bytes_[1] == 168);
}

NativeAddress SocketAddress::native() const {
  NativeAddress native;
  if (family_ == AddressFamily::kIpv4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port_);
    std::memcpy(&v4.sin_addr, bytes_.data(), kIpv4Bytes);
    native.size = sizeof v4;
    std::memcpy(&native.storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port_);
    v6.sin6_scope_id = scope_;
    std::memcpy(&v6.sin6_addr, bytes_.data(), bytes_.size());
    native.size = sizeof v6;
    std::memcpy(&native.storage, &v6, sizeof v6);
  }
  return native;
}

std::string SocketAddress::hostText() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = family_ == AddressFamily::kIpv4 ? AF_INET : AF_INET6;
  RONDO_CHECK(inet_ntop(family, bytes_.data(), text.data(), text.size()) != nullptr);
  return text.data();
}

std::string SocketAddress::text() const {
  return family_ == AddressFamily::kIpv4 ? fmt::format("{}:{}", hostText(), port_)
                                         : fmt::format("[{}]:{}", hostText(), port_);
}

}  // namespace rondo
