// Sockets, addresses and pauses: what is sent arrives, what cannot be reached is named, and signals
// disturb nothing. Loopback only.
#include "src/net/socket.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "src/net/backoff.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLimit{10000};

const SocketAddress kLoopback = SocketAddress::loopback(AddressFamily::kIpv4);

/// A listener, and where it listens.
struct Listening {
  FileDescriptor socket;
  SocketAddress address;
};

Listening listenAt(const SocketAddress& at, PortRange ports = {}) {
  Result<FileDescriptor> socket = listenOn(at, ports);
  EXPECT_TRUE(socket.ok()) << socket.status().message();
  const Result<SocketAddress> address = localAddress(socket->get());
  EXPECT_TRUE(address.ok());
  return {*std::move(socket), *address};
}

AcceptedConnection acceptWithin(const FileDescriptor& listener, milliseconds limit) {
  EXPECT_TRUE(*waitUntilReady(listener.get(), POLLIN, Deadline::within(limit)));
  Result<std::optional<AcceptedConnection>> accepted = acceptConnection(listener.get());
  EXPECT_TRUE(accepted.ok() && accepted->has_value());
  return **std::move(accepted);
}

struct Pair {
  FileDescriptor client;
  FileDescriptor server;
};

Pair connectedPair() {
  const Listening listening = listenAt(kLoopback);
  Result<FileDescriptor> client = connectOnce(listening.address, Deadline::within(kLimit));
  EXPECT_TRUE(client.ok()) << client.status().message();
  return {*std::move(client), acceptWithin(listening.socket, kLimit).socket};
}

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(SocketAddress, ReadsWhatItPrints) {
  for (const char* text : {"10.0.0.1:4000", "[fd00::1]:65535", "[::1]:1", "0.0.0.0:9"}) {
    const Result<SocketAddress> address = SocketAddress::parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->text(), text);
    const std::optional<SocketAddress> copy = SocketAddress::fromNative(address->native().get());
    EXPECT_EQ(copy, *address);
  }
}

TEST(SocketAddress, RejectsEverythingElse) {
  for (const char* text : {"", ":", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536",
                           "10.0.0.1:80x", "10.0.0:80", "localhost:80", "fd00::1:80",
                           "[10.0.0.1]:8", "[fd00::1:80", "[]:80", "10.0.0.1:-1", " 10.0.0.1:80"}) {
    const Result<SocketAddress> address = SocketAddress::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(address.status().message().find("10.0.0.1:4000"), std::string_view::npos);
  }
}

TEST(SocketAddress, MappedIpv4IsIpv4) {
  EXPECT_EQ(SocketAddress::parse("[::ffff:10.1.2.3]:80")->text(), "10.1.2.3:80");
}

TEST(SocketAddress, KnowsItsKind) {
  EXPECT_TRUE(SocketAddress::parseHost("127.0.1.1")->isLoopback());
  EXPECT_TRUE(SocketAddress::parseHost("::1")->isLoopback());
  EXPECT_FALSE(SocketAddress::parseHost("::2")->isLoopback());
  EXPECT_TRUE(SocketAddress::parseHost("169.254.1.1")->isLinkLocal());
  EXPECT_TRUE(SocketAddress::parseHost("fe80::1%lo")->isLinkLocal());
  EXPECT_FALSE(SocketAddress::parseHost("fd00::1")->isLinkLocal());
}

TEST(FileDescriptor, ClosesOnce) {
  FileDescriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  FileDescriptor second = std::move(first);
  EXPECT_EQ(second.get(), number);
  second.reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  EXPECT_FALSE(second.valid());
}

TEST(Deadline, NeverAndNow) {
  EXPECT_TRUE(Deadline::within(milliseconds{0}).never());
  EXPECT_EQ(Deadline{}.pollTimeout(), -1);
  EXPECT_FALSE(Deadline{}.passed());
  EXPECT_TRUE(Deadline::immediate().passed());
  EXPECT_EQ(Deadline::immediate().pollTimeout(), 0);
  EXPECT_LT(Deadline::within(milliseconds{5}), Deadline{});
  EXPECT_TRUE(Deadline{}.extendedBy(milliseconds{5}).never());
}

TEST(Backoff, GrowsUpToItsLimit) {
  Backoff backoff(1);
  Backoff::Delay longest = Backoff::kFirst;
  for (int i = 0; i < 20; ++i) {
    const Backoff::Delay delay = backoff.next();
    EXPECT_GE(delay, longest / 2);
    EXPECT_LE(delay, longest);
    longest = std::min(longest * 2, Backoff::kLongest);
  }
}

TEST(Socket, PassesBytesBothWays) {
  for (const AddressFamily family : {AddressFamily::kIpv4, AddressFamily::kIpv6}) {
    const Result<FileDescriptor> probe = listenOn(SocketAddress::loopback(family), {});
    if (!probe.ok()) {
      std::printf("no IPv6 here: %s\n", std::string(probe.status().message()).c_str());
      continue;
    }
    const Listening listening = listenAt(SocketAddress::loopback(family));
    Result<FileDescriptor> client = connectOnce(listening.address, Deadline::within(kLimit));
    ASSERT_TRUE(client.ok()) << client.status().message();
    const AcceptedConnection server = acceptWithin(listening.socket, kLimit);
    EXPECT_EQ(server.peer, *localAddress(client->get()));
    std::array<std::byte, 5> received{};
    ASSERT_TRUE(sendAll(client->get(), bytesOf("hello"), Deadline::within(kLimit), "x").ok());
    ASSERT_TRUE(recvAll(server.socket.get(), received, Deadline::within(kLimit), "x").ok());
    EXPECT_EQ(std::memcmp(received.data(), "hello", received.size()), 0);
  }
}

TEST(Socket, SendsMoreThanTheSystemHolds) {
  const Pair pair = connectedPair();
  std::vector<std::byte> sent(std::size_t{16} << 20);
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<std::byte>(i * 7 + i / 251);
  std::vector<std::byte> received(sent.size());
  Status receiving;
  std::thread receiver([&] {
    receiving = recvAll(pair.server.get(), received, Deadline::within(kLimit), "the sender");
  });
  const Status sending = sendAll(pair.client.get(), sent, Deadline::within(kLimit), "the receiver");
  receiver.join();
  EXPECT_TRUE(sending.ok()) << sending.message();
  EXPECT_TRUE(receiving.ok()) << receiving.message();
  EXPECT_EQ(received, sent);
}

TEST(Socket, SaysHowFarItCame) {
  const Pair pair = connectedPair();
  std::array<std::byte, 8> received{};
  ASSERT_TRUE(sendAll(pair.client.get(), bytesOf("abc"), Deadline::within(kLimit), "x").ok());
  const Status late =
      recvAll(pair.server.get(), received, Deadline::within(milliseconds{30}), "rank 3 at y");
  EXPECT_EQ(late.code(), StatusCode::kTimeout);
  EXPECT_EQ(late.message(), "rank 3 at y sent only 3 of 8 bytes in time");
}

TEST(Socket, SeesTheEnd) {
  Pair pair = connectedPair();
  pair.client.reset();
  std::array<std::byte, 8> received{};
  const Status end = recvAll(pair.server.get(), received, Deadline::within(kLimit), "rank 3");
  EXPECT_EQ(end.code(), StatusCode::kPeerLost);
  EXPECT_EQ(end.message(), "after 0 of 8 bytes: rank 3 closed the connection");
  // The first send after it is refused by the peer, which the second one is told; no SIGPIPE.
  Status broken;
  for (int i = 0; i < 100 && broken.ok(); ++i) {
    broken = sendAll(pair.server.get(), bytesOf("abc"), Deadline::within(kLimit), "rank 3");
    std::this_thread::sleep_for(milliseconds{1});
  }
  EXPECT_EQ(broken.code(), StatusCode::kPeerLost);
  EXPECT_NE(broken.message().find("rank 3"), std::string_view::npos);
}

TEST(Socket, IsNotInheritedAndDoesNotBlock) {
  const Pair pair = connectedPair();
  for (const FileDescriptor* socket : {&pair.client, &pair.server}) {
    EXPECT_NE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST(Socket, RefusedMeansRefused) {
  const SocketAddress gone = listenAt(kLoopback).address;
  const Status status = connectOnce(gone, Deadline::within(kLimit)).status();
  EXPECT_EQ(status.code(), StatusCode::kPeerLost);
  EXPECT_EQ(status.message(), "cannot connect to " + gone.text() + ": Connection refused");
}

TEST(Socket, WaitsForAPeerThatIsNotUpYet) {
  const SocketAddress address = listenAt(kLoopback).address;
  Listening late;
  std::thread root([&] {
    std::this_thread::sleep_for(milliseconds{200});
    late = listenAt(kLoopback, {address.port(), address.port()});
  });
  const std::array<SocketAddress, 1> addresses = {address};
  const Result<MadeConnection> made = connectWithRetry(addresses, Deadline::within(kLimit));
  root.join();
  EXPECT_TRUE(made.ok()) << made.status().message();
}

TEST(Socket, GivesUpAtTheDeadline) {
  const std::array<SocketAddress, 2> addresses = {listenAt(kLoopback).address,
                                                  listenAt(kLoopback).address};
  const auto start = Deadline::Clock::now();
  const Status status = connectWithRetry(addresses, Deadline::within(milliseconds{300})).status();
  const auto took = Deadline::Clock::now() - start;
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_GE(took, milliseconds{300});
  EXPECT_LT(took, milliseconds{10000});
  for (const std::string& part :
       {addresses[0].text(), addresses[1].text(), std::string("Connection refused")}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
  }
}

// Field case N05: one family leads nowhere.
TEST(Socket, TriesTheNextAddress) {
  const Listening listening = listenAt(kLoopback);
  const std::array<SocketAddress, 2> addresses = {listenAt(kLoopback).address, listening.address};
  const Result<MadeConnection> made = connectWithRetry(addresses, Deadline::within(kLimit));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->address, 1U);
}

TEST(Socket, TakesTheFirstFreePortOfARange) {
  const Listening first = listenAt(kLoopback);
  const int port = first.address.port();
  if (port > 65000) GTEST_SKIP() << "port " << port << " leaves no room for a range";
  const Listening second = listenAt(kLoopback, {port, port + 20});
  EXPECT_GT(second.address.port(), port);
  const Status full = listenOn(kLoopback, {port, port}).status();
  EXPECT_EQ(full.code(), StatusCode::kSystemError);
  EXPECT_NE(full.message().find(std::to_string(port)), std::string_view::npos);
  EXPECT_NE(full.message().find("Address already in use"), std::string_view::npos);
}

TEST(Socket, RejectsWhatIsNoRange) {
  for (const PortRange& range :
       {PortRange{0, 5}, PortRange{5, 4}, PortRange{-1, 5}, PortRange{1, 65536}}) {
    EXPECT_EQ(listenOn(kLoopback, range).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Socket, ListensAgainAtOnce) {
  int port = 0;
  for (int run = 0; run < 10; ++run) {
    const Listening listening = listenAt(kLoopback, {port, port});
    port = listening.address.port();
    // The server closes first, so that its end is the one in TIME_WAIT.
    const Result<FileDescriptor> client = connectOnce(listening.address, Deadline::within(kLimit));
    ASSERT_TRUE(client.ok());
    acceptWithin(listening.socket, kLimit).socket.reset();
    std::array<std::byte, 1> end{};
    EXPECT_FALSE(recvAll(client->get(), end, Deadline::within(kLimit), "x").ok());
  }
}

/// Sends SIGUSR1, whose handler does nothing and does not restart calls, to the calling thread
/// every millisecond.
class SignalStorm {
 public:
  SignalStorm() : target_(::pthread_self()) {
    struct sigaction action {};

    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, &before_);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        ::pthread_kill(target_, SIGUSR1);
        std::this_thread::sleep_for(milliseconds{1});
      }
    });
  }

  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;
  SignalStorm(SignalStorm&&) = delete;
  SignalStorm& operator=(SignalStorm&&) = delete;

  ~SignalStorm() {
    thread_.request_stop();
    thread_.join();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  pthread_t target_;

  struct sigaction before_ {};

  std::jthread thread_;
};

TEST(Socket, SignalsDisturbNothing) {
  const SignalStorm storm;
  const Pair pair = connectedPair();
  std::vector<std::byte> sent(std::size_t{1} << 20, std::byte{42});
  std::thread slowSender([&] {
    for (std::size_t at = 0; at < sent.size(); at += sent.size() / 16) {
      (void)sendAll(pair.client.get(), std::span(sent).subspan(at, sent.size() / 16),
                    Deadline::within(kLimit), "x");
      std::this_thread::sleep_for(milliseconds{5});
    }
  });
  std::vector<std::byte> received(sent.size());
  const Status status = recvAll(pair.server.get(), received, Deadline::within(kLimit), "x");
  slowSender.join();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(*waitUntilReady(pair.server.get(), POLLIN, Deadline::within(milliseconds{50})));
}

}  // namespace
}  // namespace rondo
