// The handshake as a state machine: two sides that share a secret agree, and nothing else gets
// through, whatever is changed, cut, repeated or thrown back.
#include "src/bootstrap/handshake.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "src/net/file_descriptor.h"
#include "tests/unit/secret_keys.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::milliseconds;

constexpr PeerIdentity kSelf{.role = PeerRole::kData, .rank = 5, .ranks = 8};

MessageAuthenticator authenticator() {
  const Result<MessageAuthenticator> shared = MessageAuthenticator::shared();
  RONDO_CHECK(shared.ok());
  return *shared;
}

Nonce nonceOf(unsigned char seed) {
  Nonce nonce{};
  nonce.fill(std::byte{seed});
  return nonce;
}

/// The messages of a handshake, in order: ClientHello, ServerHello, client's and server's proof.
constexpr std::array<std::size_t, 4> kMessageBytes = {sizeof(ClientHello), sizeof(ServerHello), 32,
                                                      32};

/// Gives `bytes` to `side` as far as it wants them.
Status feed(Handshake& side, std::span<const std::byte> bytes, std::size_t pieceBytes = 1 << 20) {
  while (!bytes.empty() && side.wanted() > 0) {
    const std::size_t piece = std::min({bytes.size(), side.wanted(), pieceBytes});
    RONDO_RETURN_IF_ERROR(side.receive(bytes.first(piece)));
    bytes = bytes.subspan(piece);
  }
  return {};
}

/// A client and a server, and whoever sits between them.
struct Exchange {
  ClientHandshake client{authenticator(), keyOf(1), kSelf, nonceOf(2)};
  ServerHandshake server{authenticator(), keyOf(1), nonceOf(3)};
  Status clientStatus;
  Status serverStatus;
  std::vector<Bytes> messages;  ///< as they were sent

  using Tamper = std::function<void(std::size_t message, Bytes& bytes)>;

  /// Carries messages to and fro until nobody says anything any more.
  void run(
      const Tamper& tamper = [](std::size_t, Bytes&) {}, std::size_t pieceBytes = 1 << 20) {
    for (std::size_t number = 0; number < kMessageBytes.size(); ++number) {
      const bool toServer = number % 2 == 0;
      Bytes bytes = toServer ? client.takeOutput() : server.takeOutput();
      messages.push_back(bytes);
      tamper(number, bytes);
      Status& status = toServer ? serverStatus : clientStatus;
      Handshake& receiver = toServer ? static_cast<Handshake&>(server) : client;
      if (status.ok()) status = feed(receiver, bytes, pieceBytes);
    }
  }
};

TEST(Handshake, BothSidesAgree) {
  Exchange exchange;
  exchange.run();
  EXPECT_TRUE(exchange.client.done() && exchange.server.done());
  EXPECT_EQ(exchange.server.peer(), kSelf);
  for (std::size_t number = 0; number < kMessageBytes.size(); ++number) {
    EXPECT_EQ(exchange.messages[number].size(), kMessageBytes[number]);
  }
}

TEST(Handshake, TakesPiecesOfAnySize) {
  for (std::size_t pieceBytes = 1; pieceBytes < 50; ++pieceBytes) {
    Exchange exchange;
    exchange.run([](std::size_t, Bytes&) {}, pieceBytes);
    EXPECT_TRUE(exchange.client.done() && exchange.server.done()) << pieceBytes;
  }
}

TEST(Handshake, EveryChangedBitIsNoticed) {
  for (std::size_t number = 0; number < kMessageBytes.size(); ++number) {
    for (std::size_t bit = 0; bit < kMessageBytes[number] * 8; ++bit) {
      Exchange exchange;
      exchange.run([&](std::size_t message, Bytes& bytes) {
        if (message == number) bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      });
      EXPECT_FALSE(exchange.client.done()) << "message " << number << " bit " << bit;
      // The server is done when it has sent the last message.
      EXPECT_EQ(exchange.server.done(), number == 3) << "message " << number << " bit " << bit;
    }
  }
}

TEST(Handshake, NothingShorterIsEnough) {
  for (std::size_t number = 0; number < kMessageBytes.size(); ++number) {
    for (std::size_t length = 0; length < kMessageBytes[number]; ++length) {
      Exchange exchange;
      exchange.run([&](std::size_t message, Bytes& bytes) {
        if (message == number) bytes.resize(std::min(length, bytes.size()));
        if (message > number) bytes.clear();
      });
      EXPECT_FALSE(exchange.client.done()) << "message " << number << " length " << length;
      EXPECT_EQ(exchange.server.done(), number == 3);
      EXPECT_TRUE(exchange.clientStatus.ok() && exchange.serverStatus.ok());
    }
  }
}

TEST(Handshake, AnotherSecretIsRefused) {
  ClientHandshake client(authenticator(), keyOf(1), kSelf, nonceOf(2));
  ServerHandshake server(authenticator(), keyOf(9), nonceOf(3));
  ASSERT_TRUE(feed(server, client.takeOutput()).ok());
  ASSERT_TRUE(feed(client, server.takeOutput()).ok());
  EXPECT_TRUE(client.proofSent());
  const Status status = feed(server, client.takeOutput());
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_NE(status.message().find("secret"), std::string_view::npos);
  EXPECT_FALSE(server.done());
  EXPECT_EQ(server.wanted(), 0U);
  EXPECT_TRUE(server.takeOutput().empty()) << "a stranger was given a proof";
}

TEST(Handshake, AServerTellsStrangersNothingBeforeTheirProof) {
  ServerHandshake server(authenticator(), keyOf(1), nonceOf(3));
  ClientHandshake client(authenticator(), keyOf(1), kSelf, nonceOf(2));
  ASSERT_TRUE(feed(server, client.takeOutput()).ok());
  EXPECT_EQ(server.takeOutput().size(), sizeof(ServerHello));
}

TEST(Handshake, OldMessagesAreWorthless) {
  Exchange recorded;
  recorded.run();
  // To another server.
  ServerHandshake server(authenticator(), keyOf(1), nonceOf(4));
  ASSERT_TRUE(feed(server, recorded.messages[0]).ok());
  EXPECT_EQ(feed(server, recorded.messages[2]).code(), StatusCode::kMismatch);
  EXPECT_FALSE(server.done());
  // To another client.
  ClientHandshake client(authenticator(), keyOf(1), kSelf, nonceOf(5));
  ASSERT_TRUE(feed(client, recorded.messages[1]).ok());
  EXPECT_EQ(feed(client, recorded.messages[3]).code(), StatusCode::kMismatch);
  EXPECT_FALSE(client.done());
}

TEST(Handshake, MessagesThrownBackAreWorthless) {
  // As they are.
  ClientHandshake mirrored(authenticator(), keyOf(1), kSelf, nonceOf(2));
  EXPECT_EQ(feed(mirrored, mirrored.takeOutput()).code(), StatusCode::kMismatch);
  // With a proper ServerHello in between.
  Exchange exchange;
  exchange.run([&](std::size_t message, Bytes& bytes) {
    if (message == 3) bytes = exchange.messages[2];
  });
  EXPECT_FALSE(exchange.client.done());
  EXPECT_EQ(exchange.clientStatus.code(), StatusCode::kMismatch);
}

TEST(Handshake, AnotherVersionNamesBoth) {
  const std::string own = fmt::format("version {}", kProtocolVersion);
  Exchange newClient;
  newClient.run([](std::size_t message, Bytes& bytes) {
    if (message == 0) bytes[4] = std::byte{7};
  });
  EXPECT_EQ(newClient.serverStatus.code(), StatusCode::kMismatch);
  for (const std::string& part : {std::string("version 7"), own}) {
    EXPECT_NE(newClient.serverStatus.message().find(part), std::string_view::npos);
  }
  // The server has answered, so that the client can say the same.
  ASSERT_EQ(newClient.messages[1].size(), sizeof(ServerHello));
  EXPECT_EQ(newClient.messages[1][6], std::byte{1});

  Exchange newServer;
  newServer.run([](std::size_t message, Bytes& bytes) {
    if (message == 1) bytes[4] = std::byte{7};
  });
  EXPECT_EQ(newServer.clientStatus.code(), StatusCode::kMismatch);
  for (const std::string& part : {std::string("version 7"), own}) {
    EXPECT_NE(newServer.clientStatus.message().find(part), std::string_view::npos);
  }
}

TEST(Handshake, OtherProtocolsAreSeenFromTheirFirstBytes) {
  for (const std::string_view text : {"GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH\r\n"}) {
    const auto bytes = std::as_bytes(std::span(text));
    ServerHandshake server(authenticator(), keyOf(1), nonceOf(3));
    EXPECT_EQ(feed(server, bytes).code(), StatusCode::kMismatch);
    EXPECT_TRUE(server.takeOutput().empty());
    ClientHandshake client(authenticator(), keyOf(1), kSelf, nonceOf(2));
    EXPECT_EQ(feed(client, bytes).code(), StatusCode::kMismatch);
  }
}

/// Two connected Unix sockets, blocking ones as others might pass.
std::array<FileDescriptor, 2> socketPair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

TEST(HandshakeOverSockets, BothSidesAgreeAndReadNothingMore) {
  const auto [clientEnd, serverEnd] = socketPair();
  Status clientStatus;
  std::thread client([&, end = clientEnd.get()] {
    clientStatus = authenticateAsClient(end, keyOf(1), kSelf, Deadline{});
    ASSERT_EQ(::send(end, "x", 1, MSG_NOSIGNAL), 1);
  });
  const Result<PeerIdentity> peer = authenticateAsServer(serverEnd.get(), keyOf(1), Deadline{});
  client.join();
  EXPECT_TRUE(clientStatus.ok()) << clientStatus.message();
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(*peer, kSelf);
  char next = 0;
  EXPECT_EQ(::recv(serverEnd.get(), &next, 1, 0), 1);
  EXPECT_EQ(next, 'x');
}

TEST(HandshakeOverSockets, AnotherSecretFailsOnBothSides) {
  auto [clientEnd, serverEnd] = socketPair();
  Status clientStatus;
  std::thread client([&, end = clientEnd.get()] {
    clientStatus = authenticateAsClient(end, keyOf(1), kSelf, Deadline{}, "the root at x");
  });
  const Status serverStatus =
      authenticateAsServer(serverEnd.get(), keyOf(2), Deadline{}, "rank 1").status();
  serverEnd.reset();
  client.join();
  EXPECT_EQ(serverStatus.code(), StatusCode::kMismatch);
  EXPECT_NE(serverStatus.message().find("rank 1"), std::string_view::npos);
  EXPECT_EQ(clientStatus.code(), StatusCode::kMismatch);
  EXPECT_NE(clientStatus.message().find("the root at x"), std::string_view::npos);
}

TEST(HandshakeOverSockets, SilenceEnds) {
  const auto [clientEnd, serverEnd] = socketPair();
  const auto start = Deadline::Clock::now();
  const Status status =
      authenticateAsServer(serverEnd.get(), keyOf(1), Deadline::within(milliseconds{50})).status();
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_EQ(
      authenticateAsClient(clientEnd.get(), keyOf(1), kSelf, Deadline::within(milliseconds{50}))
          .code(),
      StatusCode::kTimeout);
  EXPECT_LT(Deadline::Clock::now() - start, kHandshakeTimeout);
}

}  // namespace
}  // namespace rondo
