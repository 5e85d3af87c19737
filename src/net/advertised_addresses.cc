#include "src/net/advertised_addresses.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "src/log.h"
#include "src/net/interfaces.h"

namespace rondo {

namespace {

Result<std::vector<SocketAddress>> givenAddress(const std::string& text, std::uint16_t port) {
  if (const std::optional<SocketAddress> host = SocketAddress::parseHost(text)) {
    return std::vector{host->withPort(port)};
  }
  const Result<SocketAddress> address = SocketAddress::parse(text);
  if (!address.ok()) return address.status().withContext("advertised address");
  return std::vector{*address};
}

}  // namespace

Result<std::vector<SocketAddress>> addressesToAdvertise(const AddressRule& rule,
                                                        const SocketAddress& listening,
                                                        std::size_t most,
                                                        std::string_view what) {
  if (!rule.advertised.empty()) return givenAddress(rule.advertised, listening.port());
  Result<std::vector<InterfaceAddress>> all = findInterfaceAddresses();
  RONDO_RETURN_IF_ERROR(all.status());
  if (listening.family() == AddressFamily::kIpv4) {
    std::erase_if(*all, [](const InterfaceAddress& candidate) {
      return candidate.address.family() == AddressFamily::kIpv6;
    });
  }
  const Result<std::vector<InterfaceAddress>> ranked =
      rankInterfaces(*all, {.pattern = rule.interfaces, .routed = defaultRoutedAddress()});
  RONDO_RETURN_IF_ERROR(ranked.status());
  const std::vector<InterfaceAddress> best = takeBest(*ranked, most);
  RONDO_LOG(kInfo, kCommunicator, "{} advertises {} of {}, port {}", what, listInterfaces(best),
            listInterfaces(*all), listening.port());
  std::vector<SocketAddress> addresses;
  std::transform(
      best.begin(), best.end(), std::back_inserter(addresses),
      [&](const InterfaceAddress& chosen) { return chosen.address.withPort(listening.port()); });
  return addresses;
}

}  // namespace rondo
