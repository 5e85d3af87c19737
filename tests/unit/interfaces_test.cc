// Which address a host advertises, for the kinds of hosts that have gone wrong elsewhere.
#include "src/net/interfaces.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rondo {
namespace {

InterfaceAddress entry(std::string name, const char* host, bool up = true, bool running = true) {
  const std::optional<SocketAddress> address = SocketAddress::parseHost(host);
  EXPECT_TRUE(address.has_value()) << host;
  return {.name = std::move(name),
          .address = address.value_or(SocketAddress{}),
          .up = up,
          .running = running};
}

std::string ranked(const std::vector<InterfaceAddress>& all,
                   std::string_view pattern = "",
                   const char* routed = nullptr) {
  InterfaceRule rule{.pattern = pattern, .routed = std::nullopt};
  if (routed != nullptr) rule.routed = SocketAddress::parseHost(routed);
  const Result<std::vector<InterfaceAddress>> result = rankInterfaces(all, rule);
  return result.ok() ? listInterfaces(*result) : std::string(result.status().message());
}

const std::vector<InterfaceAddress> kDockerHost = {
    entry("lo", "127.0.0.1"),
    entry("veth12ab", "10.99.0.1"),
    entry("docker0", "172.17.0.1"),
    entry("eth0", "10.0.0.5"),
    entry("ib0", "192.168.7.5"),
    entry("eth0", "fd00::5"),
    entry("eth0", "fe80::5"),
    entry("eth1", "10.1.0.5", false),
    entry("eth2", "10.2.0.5", true, false),
};

// Field case N02.
TEST(Interfaces, RealOnesBeforeBridges) {
  EXPECT_EQ(ranked(kDockerHost),
            "10.0.0.5 (eth0), 192.168.7.5 (ib0), fd00::5 (eth0), 10.99.0.1 (veth12ab), 172.17.0.1 "
            "(docker0)");
}

TEST(Interfaces, TheRoutedOneFirst) {
  EXPECT_EQ(ranked(kDockerHost, "", "192.168.7.5"),
            "192.168.7.5 (ib0), 10.0.0.5 (eth0), fd00::5 (eth0), 10.99.0.1 (veth12ab), 172.17.0.1 "
            "(docker0)");
  EXPECT_TRUE(ranked(kDockerHost, "", "172.17.0.1").starts_with("172.17.0.1 (docker0), 10.0.0.5"));
}

TEST(Interfaces, PatternsNameThoseToUse) {
  EXPECT_EQ(ranked(kDockerHost, "ib0"), "192.168.7.5 (ib0)");
  EXPECT_EQ(ranked(kDockerHost, "nothing,eth*"), "10.0.0.5 (eth0), fd00::5 (eth0)");
  EXPECT_EQ(ranked(kDockerHost, "eth"),
            "no interface that is up and running fits \"eth\"; this host has: 127.0.0.1 (lo), "
            "10.99.0.1 (veth12ab), 172.17.0.1 (docker0), 10.0.0.5 (eth0), 192.168.7.5 (ib0), "
            "fd00::5 (eth0), fe80::5 (eth0), 10.1.0.5 (eth1, down), 10.2.0.5 (eth2, no carrier)");
}

TEST(Interfaces, OrThoseNotTo) {
  EXPECT_EQ(ranked(kDockerHost, "^eth*,docker*,veth*"), "192.168.7.5 (ib0)");
  EXPECT_EQ(ranked(kDockerHost, "^eth*,docker*,veth*,ib0"), "127.0.0.1 (lo)");
  EXPECT_TRUE(ranked(kDockerHost, "^*").starts_with("no interface"));
}

// Field case N04.
TEST(Interfaces, LoopbackOnlyAloneOrByName) {
  EXPECT_EQ(
      ranked({entry("lo", "127.0.0.1"), entry("lo", "::1"), entry("eth0", "10.0.0.5", false)}),
      "127.0.0.1 (lo), ::1 (lo)");
  EXPECT_EQ(ranked(kDockerHost, "lo"), "127.0.0.1 (lo)");
  EXPECT_EQ(ranked(kDockerHost, "lo,ib*"), "127.0.0.1 (lo), 192.168.7.5 (ib0)");
  // On lo, but no loopback address: some data centres route to such ones.
  EXPECT_EQ(ranked({entry("lo", "127.0.0.1"), entry("lo", "10.8.0.1")}), "10.8.0.1 (lo)");
}

TEST(Interfaces, LinkLocalLast) {
  EXPECT_EQ(
      ranked({entry("eth0", "169.254.3.4"), entry("docker0", "172.17.0.1")}, "", "169.254.3.4"),
      "172.17.0.1 (docker0), 169.254.3.4 (eth0)");
  EXPECT_EQ(ranked({entry("eth0", "fe80::1")}),
            "this host has no usable network address; it has: fe80::1 (eth0)");
  EXPECT_EQ(ranked({}), "this host has no usable network address; it has: none");
}

// Field case N05.
TEST(Interfaces, WhatIsLeftOutHasAReason) {
  const auto reason = [](std::size_t at, std::string_view pattern) {
    return whyLeftOut(kDockerHost[at], kDockerHost, {.pattern = pattern, .routed = std::nullopt});
  };
  EXPECT_EQ(reason(0, ""), "is loopback, by which ranks of other hosts would dial themselves");
  EXPECT_EQ(reason(0, "lo,eth0"), "");
  EXPECT_EQ(reason(0, "^*0,veth*"), "");  // nothing else is left
  EXPECT_EQ(reason(3, ""), "");
  EXPECT_EQ(reason(3, "ib*"), "is ruled out by the pattern");
  EXPECT_EQ(reason(6, ""), "is link-local, which means nothing without an interface's name");
  EXPECT_EQ(reason(7, ""), "is down");
  EXPECT_EQ(reason(8, ""), "has no carrier");
}

TEST(Interfaces, ReasonsAndRankingAgree) {
  for (const std::string_view pattern : {"", "lo", "eth*", "^eth*", "^*0,veth*"}) {
    const InterfaceRule rule{.pattern = pattern, .routed = std::nullopt};
    const auto kept = std::count_if(kDockerHost.begin(), kDockerHost.end(),
                                    [&](const InterfaceAddress& candidate) {
                                      return whyLeftOut(candidate, kDockerHost, rule).empty();
                                    });
    const Result<std::vector<InterfaceAddress>> usable = rankInterfaces(kDockerHost, rule);
    ASSERT_TRUE(usable.ok());
    EXPECT_EQ(static_cast<std::size_t>(kept), usable->size()) << pattern;
  }
}

TEST(Interfaces, TheBestHaveBothFamilies) {
  const std::vector<InterfaceAddress> both = {entry("a", "10.0.0.1"), entry("b", "10.0.0.2"),
                                              entry("c", "10.0.0.3"), entry("d", "fd00::4")};
  EXPECT_EQ(listInterfaces(takeBest(both, 3)), "10.0.0.1 (a), 10.0.0.2 (b), fd00::4 (d)");
  EXPECT_EQ(listInterfaces(takeBest(both, 4)), listInterfaces(both));
  EXPECT_EQ(listInterfaces(takeBest(both, 1)), "10.0.0.1 (a)");
  EXPECT_EQ(takeBest({}, 3).size(), 0U);
}

TEST(Interfaces, ThisHostHasSome) {
  const Result<std::vector<InterfaceAddress>> all = findInterfaceAddresses();
  ASSERT_TRUE(all.ok());
  const auto best = rankInterfaces(*all, {.pattern = "", .routed = defaultRoutedAddress()});
  ASSERT_TRUE(best.ok()) << best.status().message();
  std::printf("chosen: %s\n", listInterfaces(*best).c_str());
}

TEST(Interfaces, LoopbackRoutesToLoopback) {
  const SocketAddress loopback = SocketAddress::loopback(AddressFamily::kIpv4, 9);
  EXPECT_EQ(routedAddress(loopback), loopback.withPort(0));
}

}  // namespace
}  // namespace rondo
