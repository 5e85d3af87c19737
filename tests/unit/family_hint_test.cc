// Field case N05: what is said of two ranks whose addresses have no family in common.
#include "src/control/family_hint.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace rondo {
namespace {

std::vector<SocketAddress> addressesOf(const std::vector<std::string_view>& texts) {
  std::vector<SocketAddress> addresses;
  for (const std::string_view text : texts)
    addresses.push_back(*SocketAddress::parse(text));
  return addresses;
}

std::string hintOf(const std::vector<std::string_view>& own,
                   const std::vector<std::string_view>& peer) {
  const std::vector<SocketAddress> ownAddresses = addressesOf(own);
  const std::vector<SocketAddress> peerAddresses = addressesOf(peer);
  return familyHint({3, ownAddresses}, {5, peerAddresses});
}

TEST(FamilyHint, NamesBothRanksTheirFamiliesAndTheSettings) {
  EXPECT_EQ(hintOf({"10.0.0.1:4000", "10.1.0.1:4000"}, {"[fd00::1]:5000"}),
            "; rank 3 IPv4 only (10.0.0.1:4000, 10.1.0.1:4000) and rank 5 IPv6 only "
            "([fd00::1]:5000) have no address family in common: unless the network joins them, "
            "give both one by RONDO_INTERFACE or RONDO_ADVERTISE");
  EXPECT_TRUE(hintOf({"[fd00::1]:5000"}, {"10.0.0.1:4000"}).starts_with("; rank 3 IPv6 only"));
}

TEST(FamilyHint, SaysNothingWhereOneFamilyIsCommon) {
  EXPECT_EQ(hintOf({"10.0.0.1:4000"}, {"[fd00::1]:5000", "10.0.0.2:5000"}), "");
  EXPECT_EQ(hintOf({"[fd00::2]:1", "10.0.0.1:1"}, {"[fd00::1]:1"}), "");
  EXPECT_EQ(hintOf({"10.0.0.1:1"}, {"10.0.0.2:1"}), "");
}

TEST(FamilyHint, SaysNothingOfARankWithoutAddresses) {
  EXPECT_EQ(hintOf({}, {"[fd00::1]:1"}), "");
  EXPECT_EQ(hintOf({"10.0.0.1:1"}, {}), "");
}

}  // namespace
}  // namespace rondo
