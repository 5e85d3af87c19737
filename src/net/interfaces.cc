#include "src/net/interfaces.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <tuple>

#include <fnmatch.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include "src/net/errno_text.h"
#include "src/net/file_descriptor.h"
#include "src/net/name_filter.h"

namespace rondo {

namespace {

/// Names that Docker, Podman, LXC, libvirt and the network plugins of Kubernetes give to bridges
/// and to the ends of pairs; they lead to containers of the same host.
constexpr std::array kVirtualNames = {"docker*", "br-*",    "veth*", "virbr*", "lxcbr*",
                                      "lxdbr*",  "podman*", "cni*",  "cali*",  "flannel*",
                                      "cilium*", "vnet*",   "tap*",  "dummy*"};

bool isVirtual(const std::string& name) {
  return std::any_of(kVirtualNames.begin(), kVirtualNames.end(),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

/// What is wrong with it, whatever others there are; null: nothing.
const char* whyUseless(const InterfaceAddress& candidate, const NameFilter& filter) {
  if (!candidate.up) return "is down";
  if (!candidate.running) return "has no carrier";
  if (candidate.address.family() == AddressFamily::kIpv6 && candidate.address.isLinkLocal()) {
    return "is link-local, which means nothing without an interface's name";
  }
  return filter.accepts(candidate.name) ? nullptr : "is ruled out by the pattern";
}

/// Of use only where nothing else is.
bool isLastResort(const InterfaceAddress& candidate, const NameFilter& filter) {
  return candidate.address.isLoopback() && !filter.wants(candidate.name);
}

/// The name of the interface that has `address`; empty if none has.
std::string ownerOf(const std::optional<SocketAddress>& address,
                    std::span<const InterfaceAddress> all) {
  if (!address) return {};
  const auto owner = std::find_if(all.begin(), all.end(), [&](const InterfaceAddress& candidate) {
    return candidate.address == address->withPort(0);
  });
  return owner == all.end() ? std::string{} : owner->name;
}

Status nothingLeft(std::span<const InterfaceAddress> all, std::string_view pattern) {
  const std::string list = all.empty() ? "none" : listInterfaces(all);
  if (pattern.empty()) {
    return Status::invalidArgument("this host has no usable network address; it has: {}", list);
  }
  return Status::invalidArgument(
      "no interface that is up and running fits \"{}\"; this host has: {}", pattern, list);
}

}  // namespace

Result<std::vector<InterfaceAddress>> findInterfaceAddresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    const int error = errno;
    return Status::systemError("cannot list the network interfaces: {}", errnoText(error));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const std::optional<SocketAddress> address = SocketAddress::fromNative(entry->ifa_addr);
    if (!address) continue;
    found.push_back({.name = entry->ifa_name,
                     .address = *address,
                     .up = (entry->ifa_flags & IFF_UP) != 0,
                     .running = (entry->ifa_flags & IFF_RUNNING) != 0});
  }
  return found;
}

Result<std::vector<InterfaceAddress>> rankInterfaces(std::span<const InterfaceAddress> all,
                                                     const InterfaceRule& rule) {
  const NameFilter filter(rule.pattern);
  std::vector<InterfaceAddress> ranked;
  std::copy_if(
      all.begin(), all.end(), std::back_inserter(ranked),
      [&](const InterfaceAddress& candidate) { return whyUseless(candidate, filter) == nullptr; });
  const auto isLast = [&](const InterfaceAddress& candidate) {
    return isLastResort(candidate, filter);
  };
  if (!std::all_of(ranked.begin(), ranked.end(), isLast)) std::erase_if(ranked, isLast);
  if (ranked.empty()) return nothingLeft(all, rule.pattern);

  const std::string routed = ownerOf(rule.routed, all);
  const auto place = [&](const InterfaceAddress& candidate) {
    return std::tuple(candidate.address.isLinkLocal(), candidate.name != routed,
                      isVirtual(candidate.name));
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const auto& one, const auto& other) { return place(one) < place(other); });
  return ranked;
}

std::string whyLeftOut(const InterfaceAddress& candidate,
                       std::span<const InterfaceAddress> all,
                       const InterfaceRule& rule) {
  const NameFilter filter(rule.pattern);
  if (const char* const why = whyUseless(candidate, filter)) return why;
  const bool anyBetter = std::any_of(all.begin(), all.end(), [&](const InterfaceAddress& other) {
    return whyUseless(other, filter) == nullptr && !isLastResort(other, filter);
  });
  const bool leftOut = anyBetter && isLastResort(candidate, filter);
  return leftOut ? "is loopback, by which ranks of other hosts would dial themselves" : "";
}

std::vector<InterfaceAddress> takeBest(std::span<const InterfaceAddress> ranked, std::size_t most) {
  std::vector<InterfaceAddress> best(
      ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(std::min(most, ranked.size())));
  if (best.size() < 2 || best.size() == ranked.size()) return best;
  const auto isOther = [&](const InterfaceAddress& candidate) {
    return candidate.address.family() != best.front().address.family();
  };
  if (std::any_of(best.begin(), best.end(), isOther)) return best;
  const auto other = std::find_if(ranked.begin(), ranked.end(), isOther);
  if (other != ranked.end()) best.back() = *other;
  return best;
}

std::optional<SocketAddress> routedAddress(const SocketAddress& peer) {
  // Connecting a datagram socket only looks the route up.
  const int domain = peer.family() == AddressFamily::kIpv4 ? AF_INET : AF_INET6;
  const FileDescriptor socket(::socket(domain, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return std::nullopt;
  const NativeAddress native = peer.native();
  if (::connect(socket.get(), native.get(), native.size) != 0) return std::nullopt;
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const own = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(socket.get(), own, &size) != 0) return std::nullopt;
  const std::optional<SocketAddress> address = SocketAddress::fromNative(own);
  return address ? std::optional(address->withPort(0)) : std::nullopt;
}

std::optional<SocketAddress> defaultRoutedAddress() {
  // Addresses that documents may use and nobody has (RFC 5737, RFC 3849).
  for (const char* nobody : {"198.51.100.1", "2001:db8::1"}) {
    const std::optional<SocketAddress> peer = SocketAddress::parseHost(nobody);
    RONDO_CHECK(peer.has_value());
    if (const auto address = routedAddress(peer->withPort(9))) return address;
  }
  return std::nullopt;
}

std::string listInterfaces(std::span<const InterfaceAddress> addresses) {
  std::string list;
  for (const InterfaceAddress& entry : addresses) {
    const char* const state = !entry.up ? ", down" : !entry.running ? ", no carrier" : "";
    list += fmt::format("{}{} ({}{})", list.empty() ? "" : ", ", entry.address.hostText(),
                        entry.name, state);
  }
  return list;
}

}  // namespace rondo
