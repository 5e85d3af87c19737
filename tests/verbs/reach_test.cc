// Which ports and addresses pairs of ranks use: pure functions of what they have offered.
#include "transports/verbs/reach.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/connection.h"
#include "transports/transport.h"
#include "transports/verbs/device.h"
#include "transports/verbs/trials.h"
#include "transports/verbs/wire.h"

namespace rondo::verbs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Gid ipv4(int a, int b, int c, int d) {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  gid[12] = static_cast<std::uint8_t>(a);
  gid[13] = static_cast<std::uint8_t>(b);
  gid[14] = static_cast<std::uint8_t>(c);
  gid[15] = static_cast<std::uint8_t>(d);
  return gid;
}

Gid ipv6(int first, int second, int last) {
  Gid gid{};
  gid[0] = static_cast<std::uint8_t>(first);
  gid[1] = static_cast<std::uint8_t>(second);
  gid[15] = static_cast<std::uint8_t>(last);
  return gid;
}

PortOffer roce(std::vector<Gid> gids) {
  return {true, std::move(gids)};
}

PortOffer infiniband(int subnet) {
  return {false, {ipv6(0xfe, subnet, 0)}};
}

/// Field test C05: which of a port's addresses are considered.
TEST(Gids, RoutableOnesOfRoceV2) {
  const std::vector<PortGid> table = {{0, ipv6(0xfe, 0x80, 1), true},
                                      {1, ipv6(0xfe, 0x80, 1), false},
                                      {2, ipv4(10, 0, 0, 1), true},
                                      {3, ipv4(10, 0, 0, 1), false}};
  EXPECT_THAT(chooseGids(table), ElementsAre(table[3]));
  EXPECT_THAT(chooseGids({table[0], table[1]}), ElementsAre(table[1])) << "better than none";
  EXPECT_THAT(chooseGids({table[0], table[2]}), IsEmpty());
}

TEST(Gids, AreWrittenAsAddresses) {
  EXPECT_EQ(gidText(ipv4(10, 0, 0, 1)), "10.0.0.1");
  EXPECT_EQ(gidText(ipv6(0xfe, 0x80, 1)), "fe80::1");
}

TEST(Offers, ComeBack) {
  const std::vector<PortOffer> ports = {roce({ipv4(10, 0, 0, 1), ipv6(0xfd, 0, 7)}),
                                        infiniband(0x80), roce({ipv4(10, 0, 1, 1)})};
  const std::string word = encodePorts(ports, 200);
  const Result<std::vector<PortOffer>> read = decodePorts(word);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, ports);
}

TEST(Offers, LeaveOutWhatDoesNotFit) {
  const std::vector<PortOffer> ports = {roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 1, 1)})};
  const std::size_t all = encodePorts(ports, 200).size();
  EXPECT_EQ(encodePorts(ports, all).size(), all);
  EXPECT_EQ(*decodePorts(encodePorts(ports, all - 1)), std::vector{ports[0]});
  EXPECT_EQ(encodePorts(ports, 3), "");
}

/// A network that is reached counts for more than another address in it.
TEST(Offers, LeaveOutAddressesBeforePorts) {
  const std::vector<PortOffer> ports = {roce({ipv4(10, 0, 0, 1), ipv6(0xfd, 0, 1)}),
                                        roce({ipv4(10, 0, 1, 1), ipv6(0xfd, 0, 2)})};
  const std::size_t all = encodePorts(ports, 200).size();
  EXPECT_EQ(*decodePorts(encodePorts(ports, all - 1)),
            (std::vector{ports[0], roce({ipv4(10, 0, 1, 1)})}));
  EXPECT_EQ(*decodePorts(encodePorts(ports, 20)),
            (std::vector{roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 1, 1)})}));
}

TEST(Offers, HoldAsManyPortsAsARankHas) {
  std::vector<PortOffer> ports;
  for (int at = 0; at < static_cast<int>(kMostPorts); ++at)
    ports.push_back(roce({ipv6(0xfd, at, 1), ipv6(0xfd, at, 2)}));
  constexpr std::size_t kRest = 300;  // rank and addresses of the control plane
  EXPECT_EQ(decodePorts(encodePorts(ports, kMaxOfferBytes - kRest))->size(), kMostPorts);
}

TEST(Offers, OthersAreNone) {
  for (const char* word : {"X", "E0a0000", "E0a00000g", "I0a000001", "E0a000001/", "E0a000001//",
                           "I", "E+", "E0a000001+", "/"}) {
    const Result<std::vector<PortOffer>> read = decodePorts(word);
    if (!read.ok()) continue;
    // What is read can be used: every port has addresses, or reaches nobody.
    EXPECT_THAT(pairPorts(*read, {roce({ipv4(10, 0, 0, 1)})}).size(), ::testing::Le(1U)) << word;
  }
  EXPECT_FALSE(decodePorts("E0a00000g").ok());
  EXPECT_FALSE(decodePorts("I0a000001").ok());
  EXPECT_FALSE(decodePorts("X").ok());
}

TEST(Pairs, RailsMeetTheirLike) {
  const std::vector<PortOffer> one = {roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 1, 1)})};
  const std::vector<PortOffer> other = {roce({ipv4(10, 0, 0, 2)}), roce({ipv4(10, 0, 1, 2)})};
  EXPECT_THAT(pairPorts(one, other), ElementsAre(PortPair{0, 0, 0, 0}, PortPair{1, 0, 1, 0}));
}

TEST(Pairs, PortsOfOneNetworkMeetByNumber) {
  const std::vector<PortOffer> ports = {infiniband(0x80), infiniband(0x80)};
  EXPECT_THAT(pairPorts(ports, ports), ElementsAre(PortPair{0, 0, 0, 0}, PortPair{1, 0, 1, 0}));
  EXPECT_THAT(pairPorts(ports, {ports[0]}),
              ElementsAre(PortPair{0, 0, 0, 0}, PortPair{1, 0, 0, 0}));
}

TEST(Pairs, TheAddressOfThePeersNetworkIsTaken) {
  const std::vector<PortOffer> one = {
      roce({ipv4(192, 168, 7, 1), ipv4(10, 0, 0, 1), ipv6(0xfd, 0, 1)})};
  EXPECT_THAT(pairPorts(one, {roce({ipv4(10, 0, 0, 2)})}), ElementsAre(PortPair{0, 1, 0, 0}));
  EXPECT_THAT(pairPorts(one, {roce({ipv6(0xfd, 0, 2)})}), ElementsAre(PortPair{0, 2, 0, 0}));
}

/// Whether a router joins them is not known.
TEST(Pairs, OtherNetworksAreReachedByARouterIfAtAll) {
  const auto isRouted = [](PortOffer one, PortOffer other) {
    const std::vector<PortPair> pairs = pairPorts({std::move(one)}, {std::move(other)});
    EXPECT_EQ(pairs.size(), 1U);
    return !pairs.empty() && pairs.front().routed;
  };
  EXPECT_TRUE(isRouted(roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 1, 1)})));
  EXPECT_FALSE(isRouted(roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 0, 2)})));
  EXPECT_FALSE(isRouted(roce({ipv4(10, 0, 0, 1)}), roce({ipv4(10, 0, 1, 1), ipv4(10, 0, 0, 2)})));
  EXPECT_TRUE(isRouted(roce({ipv6(0xfd, 0, 1)}), roce({ipv6(0xfd, 1, 1)})));
  EXPECT_FALSE(isRouted(roce({ipv6(0xfd, 0, 1)}), roce({ipv6(0xfd, 0, 2)})));
  EXPECT_FALSE(isRouted(roce({ipv6(0xfe, 0x80, 1)}), roce({ipv6(0xfe, 0x80, 2)})));
  EXPECT_FALSE(isRouted(infiniband(0x80), infiniband(0x80)));
}

TEST(Pairs, NetworksThatDoNotMeet) {
  EXPECT_THAT(pairPorts({roce({ipv4(10, 0, 0, 1)})}, {infiniband(0x80)}), IsEmpty());
  EXPECT_THAT(pairPorts({infiniband(0x80)}, {infiniband(0x81)}), IsEmpty());
  EXPECT_THAT(pairPorts({roce({ipv4(10, 0, 0, 1)})}, {roce({ipv6(0xfd, 0, 2)})}), IsEmpty());
  EXPECT_THAT(pairPorts({}, {infiniband(0x80)}), IsEmpty());
}

/// Both ends number them alike.
TEST(Pairs, AreTheSameFromBothEnds) {
  const std::string one =
      encodePorts({roce({ipv4(10, 0, 1, 1)}), roce({ipv4(10, 0, 0, 1)}), infiniband(0x80)}, 200);
  const std::string other = encodePorts({infiniband(0x80), roce({ipv4(10, 0, 0, 2)})}, 200);
  const std::vector<PortPair> here = *pathsBetween(one, other);
  const std::vector<PortPair> there = *pathsBetween(other, one);
  ASSERT_EQ(here.size(), there.size());
  ASSERT_GE(here.size(), 2U);
  for (std::size_t at = 0; at < here.size(); ++at)
    EXPECT_EQ(here[at], (PortPair{there[at].peer, there[at].peerGid, there[at].own,
                                  there[at].ownGid, there[at].routed}));
}

/// Any two hosts have one pair of ranks that tries, and both know of each other.
TEST(PathTrials, EachPairOfHostsIsTriedOnce) {
  const std::vector<std::vector<std::string>> jobs = {{"a", "b"},
                                                      {"a", "a", "a"},
                                                      {"a", "a", "b", "b", "c", "c", "d", "d"},
                                                      {"a", "b", "c", "a", "b", "c", "a"},
                                                      {"a", "", "b", "a", "", "c", "c", "c", "c"},
                                                      {"a"}};
  for (const std::vector<std::string>& job : jobs) {
    std::map<std::pair<std::string, std::string>, int> tried;
    for (int rank = 0; rank < static_cast<int>(job.size()); ++rank) {
      const auto hostOf = [&](int of) { return job[static_cast<std::size_t>(of)]; };
      for (const int peer : trialPartners(rank, job)) {
        EXPECT_THAT(trialPartners(peer, job), Contains(rank));
        if (rank < peer) ++tried[std::minmax({hostOf(rank), hostOf(peer)})];
      }
    }
    const std::set<std::string> hosts(job.begin(), job.end());
    for (const std::string& one : hosts) {
      for (const std::string& other : hosts) {
        const bool some = one != other || std::ranges::count(job, one) > 1;
        const bool all = !one.empty() && !other.empty() && one <= other;
        EXPECT_EQ((tried[{one, other}]), some && all ? 1 : 0) << one << " " << other;
      }
    }
  }
}

/// Not one rank of each host for all others.
TEST(PathTrials, RanksShareTheWork) {
  std::vector<std::string> ports;
  for (int rank = 0; rank < 64; ++rank)
    ports.push_back(std::to_string(rank / 8));
  for (int rank = 0; rank < 64; ++rank)
    EXPECT_THAT(trialPartners(rank, ports), SizeIs(::testing::Le(3U))) << rank;
}

TEST(PathTrials, FindingsComeBack) {
  const TrialFindings findings{{{0, 1}, {1000, 0}}, "rdma0, port 1:\nno answer"};
  EXPECT_EQ(decodeFindings(encodeFindings(findings)), findings);
  EXPECT_EQ(encodeFindings({}), "");
  EXPECT_EQ(decodeFindings(""), TrialFindings{});
  for (const char* text : {"x", "1", "1.2.3", "1.2,", "1.2,x\n", "."})
    EXPECT_TRUE(!decodeFindings(text) || decodeFindings(text)->failed.size() == 1) << text;
}

TEST(Wire, EndpointsComeBackAndAreChecked) {
  Endpoint endpoint{.queuePair = 77,
                    .firstPacket = 0xffffff,
                    .lid = 3,
                    .gid = ipv4(1, 2, 3, 4),
                    .mtu = IBV_MTU_1024,
                    .slots = 8,
                    .key = 9,
                    .slotsAddress = 1ULL << 60,
                    .headersAddress = 5};
  const auto frameOf = [](const std::vector<std::byte>& stream) {
    FrameReader reader;
    std::span<const std::byte> rest(stream);
    while (!rest.empty()) {
      const auto part = rest.first(std::min(rest.size(), reader.wanted()));
      EXPECT_TRUE(reader.receive(part).ok());
      rest = rest.subspan(part.size());
    }
    return reader.take();
  };
  std::vector<std::byte> stream;
  appendEndpoint(stream, endpoint);
  const Result<Endpoint> read = readEndpoint(frameOf(stream));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, endpoint);
  for (const std::uint32_t slots : {0U, kMaxSlots + 1}) {
    stream.clear();
    endpoint.slots = slots;
    appendEndpoint(stream, endpoint);
    EXPECT_FALSE(readEndpoint(frameOf(stream)).ok()) << slots;
  }
  stream.clear();
  appendGoodbye(stream, 12);
  EXPECT_EQ(*readGoodbye(frameOf(stream)), 12U);
  EXPECT_FALSE(readEndpoint(frameOf(stream)).ok());
}

TEST(Wire, NumbersOf32BitsGoOnBehindThem) {
  constexpr std::uint64_t kTurn = std::uint64_t{1} << 32;
  EXPECT_EQ(widen(5, 5), 5U);
  EXPECT_EQ(widen(6, 5), 6U);
  EXPECT_EQ(widen(2, kTurn - 1), kTurn + 2);
  EXPECT_EQ(widen(4, 5), kTurn + 4) << "never back";
}

}  // namespace
}  // namespace rondo::verbs
