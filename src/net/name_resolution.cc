#include "src/net/name_resolution.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <netdb.h>

#include "src/log.h"
#include "src/net/backoff.h"
#include "src/net/errno_text.h"

namespace rondo {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// One question.
/// @param error what the resolver said; 0: it knows the name
std::vector<SocketAddress> ask(const std::string& host, std::string& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &raw);
  const int systemError = errno;
  const std::unique_ptr<addrinfo, FreeAddresses> list(raw);
  std::vector<SocketAddress> addresses;
  if (code != 0) {
    error = code == EAI_SYSTEM ? errnoText(systemError) : ::gai_strerror(code);
    return addresses;
  }
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    const std::optional<SocketAddress> address = SocketAddress::fromNative(entry->ai_addr);
    if (address && std::ranges::find(addresses, *address) == addresses.end()) {
      addresses.push_back(*address);
    }
  }
  if (addresses.empty()) error = "it has neither an IPv4 nor an IPv6 address";
  return addresses;
}

}  // namespace

Result<std::vector<SocketAddress>> resolveHost(const std::string& host, Deadline deadline) {
  if (const std::optional<SocketAddress> number = SocketAddress::parseHost(host)) {
    return std::vector{*number};
  }
  Backoff backoff;
  for (;;) {
    std::string error;
    std::vector<SocketAddress> addresses = ask(host, error);
    if (!addresses.empty()) return addresses;
    RONDO_LOG(kDebug, kTransport, "name {} cannot be resolved: {}", host, error);
    if (deadline.passed()) {
      return Status::timeout("host name {} cannot be resolved: {}", host, error);
    }
    backoff.pause(deadline);
  }
}

}  // namespace rondo
