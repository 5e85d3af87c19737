// Unique ids: what is put in comes out, and damage is noticed.
#include "src/bootstrap/unique_id.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/bootstrap/message_authentication.h"

namespace rondo {
namespace {

std::vector<SocketAddress> someAddresses() {
  return {*SocketAddress::parse("10.1.2.3:4000"), *SocketAddress::parse("[fd00::7]:4001"),
          *SocketAddress::parse("127.0.0.1:1")};
}

UniqueId someId() {
  const Result<UniqueId> id = makeUniqueId(someAddresses());
  EXPECT_TRUE(id.ok());
  return *id;
}

TEST(UniqueId, ComesBackAsItWas) {
  for (std::size_t count = 1; count <= kMostAddresses; ++count) {
    const std::vector<SocketAddress> addresses = someAddresses();
    const auto some = std::span(addresses).first(count);
    const Result<UniqueId> id = makeUniqueId(some);
    ASSERT_TRUE(id.ok());
    const Result<UniqueIdContent> content = readUniqueId(*id);
    ASSERT_TRUE(content.ok()) << content.status().message();
    EXPECT_TRUE(
        std::equal(some.begin(), some.end(), content->addresses.begin(), content->addresses.end()));
    EXPECT_EQ(std::memcmp(content->secret.bytes().data(), id->bytes.data() + 68, 32), 0);
  }
}

TEST(UniqueId, NoTwoAreEqual) {
  EXPECT_NE(someId(), someId());
}

TEST(UniqueId, EveryChangedBitIsNoticed) {
  const UniqueId id = someId();
  for (std::size_t bit = 0; bit < id.bytes.size() * 8; ++bit) {
    UniqueId changed = id;
    changed.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(readUniqueId(changed).status().code(), StatusCode::kInvalidArgument) << bit;
  }
}

TEST(UniqueId, EveryCutIsNoticed) {
  const UniqueId id = someId();
  for (std::size_t kept = 0; kept < id.bytes.size(); ++kept) {
    UniqueId cut;
    std::copy_n(id.bytes.begin(), kept, cut.bytes.begin());
    if (cut == id) continue;  // what was cut off was zero
    EXPECT_EQ(readUniqueId(cut).status().code(), StatusCode::kInvalidArgument) << kept;
  }
}

TEST(UniqueId, AnotherVersionNamesBoth) {
  UniqueId other = someId();
  other.bytes[4] = std::byte{9};
  const Status status = readUniqueId(other).status();
  EXPECT_NE(status.message().find("version 9"), std::string_view::npos);
  EXPECT_NE(status.message().find("version 1"), std::string_view::npos);
}

TEST(MessageAuthentication, DependsOnKeyAndMessage) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  ASSERT_TRUE(authenticator.ok()) << authenticator.status().message();
  std::array<std::byte, 32> bytes{};
  const SecretKey key(bytes);
  bytes[31] = std::byte{1};
  const SecretKey other(bytes);
  const std::array<std::byte, 3> message{};
  const Mac mac = authenticator->authenticate(key, message);
  EXPECT_TRUE(authenticator->equal(mac, authenticator->authenticate(key, message)));
  EXPECT_FALSE(authenticator->equal(mac, authenticator->authenticate(other, message)));
  EXPECT_FALSE(
      authenticator->equal(mac, authenticator->authenticate(key, std::span(message).first(2))));
}

TEST(MessageAuthentication, IsKeyedBlake2b) {
  // Another implementation's word for it, Python's:
  // hashlib.blake2b(b"abc", key=bytes(range(32)), digest_size=32).hexdigest()
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  ASSERT_TRUE(authenticator.ok());
  std::array<std::byte, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i);
  const std::string_view message = "abc";
  const Mac mac = authenticator->authenticate(SecretKey(bytes), std::as_bytes(std::span(message)));
  std::string hex;
  for (const std::byte byte : mac)
    hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  EXPECT_EQ(hex, "d63a32d3e44738d7907f964316c241adaba0abfeabc32349677578a15a203f7f");
}

TEST(MessageAuthentication, AMissingLibraryIsNamedWithItsCure) {
  const Status status = MessageAuthenticator::load("libsodium-is-not-here.so").status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(status.message().find("libsodium-is-not-here.so"), std::string_view::npos);
  EXPECT_NE(status.message().find("install libsodium"), std::string_view::npos);
  const Status other = MessageAuthenticator::load("libc.so.6").status();
  EXPECT_EQ(other.code(), StatusCode::kNotSupported);
  EXPECT_NE(other.message().find("undefined symbol: "), std::string_view::npos) << other.message();
}

}  // namespace
}  // namespace rondo
