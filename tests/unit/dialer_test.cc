// Connecting to another rank: who refuses, who answers, and what is said when nobody does.
#include "src/control/dialer.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include "tests/unit/secret_keys.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{20000};

constexpr PeerIdentity kSelf{.role = PeerRole::kData, .rank = 2, .ranks = 5};

Status nobodyGivesUp() {
  return {};
}

/// Listens on the loopback; whoever has the secret is let in.
class Listener {
 public:
  Listener()
      : socket_(*listenOn(SocketAddress::loopback(AddressFamily::kIpv4), {})),
        address_(*localAddress(socket_.get())) {}

  SocketAddress address() const { return address_; }

  /// Lets one visitor in, or tells why not.
  Result<PeerIdentity> letOneIn() const {
    const Deadline deadline = Deadline::within(kPatience);
    for (;;) {
      const Result<bool> ready = waitUntilReady(socket_.get(), POLLIN, deadline);
      if (!ready.ok() || !*ready) return Status::timeout("nobody came");
      const Result<std::optional<AcceptedConnection>> taken = acceptConnection(socket_.get());
      if (!taken.ok()) return taken.status();
      if (taken->has_value()) {
        return authenticateAsServer((*taken)->socket.get(), keyOf(1), deadline);
      }
    }
  }

  /// Nobody listens there any more.
  void stop() { socket_.reset(); }

 private:
  FileDescriptor socket_;
  SocketAddress address_;
};

TEST(Dialer, ComesInAsWhoItIs) {
  const Listener listener;
  Result<PeerIdentity> seen = Status::internal("has not run");
  std::thread server([&] { seen = listener.letOneIn(); });
  const Result<FileDescriptor> socket = dialRank(3, std::vector{listener.address()}, keyOf(1),
                                                 kSelf, Deadline::within(kPatience), nobodyGivesUp);
  server.join();
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(*seen, kSelf);
}

TEST(Dialer, TakesTheSecondAddressIfTheFirstLeadsNowhere) {
  const Listener listener;
  Listener gone;
  gone.stop();
  for (const SocketAddress& first :
       {*SocketAddress::parse("[fd00:dead::1]:4000"), gone.address(),
        SocketAddress::loopback(AddressFamily::kIpv6, listener.address().port())}) {
    std::thread server([&] { EXPECT_TRUE(listener.letOneIn().ok()); });
    const Result<FileDescriptor> socket =
        dialRank(3, std::vector{first, listener.address()}, keyOf(1), kSelf,
                 Deadline::within(kPatience), nobodyGivesUp);
    server.join();
    EXPECT_TRUE(socket.ok()) << first.text() << ": " << socket.status().message();
  }
}

TEST(Dialer, WhoRefusesForAWhileIsGone) {
  Listener gone;
  gone.stop();
  const auto start = Deadline::Clock::now();
  const Status status = dialRank(3, std::vector{gone.address()}, keyOf(1), kSelf,
                                 Deadline::within(kPatience), nobodyGivesUp)
                            .status();
  EXPECT_LT(Deadline::Clock::now() - start, milliseconds{6000});
  EXPECT_EQ(status.code(), StatusCode::kPeerLost);
  for (const std::string& part : {std::string("rank 3"), gone.address().text()})
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
}

/// A thread's network becomes one with nothing but a loopback. @return whether it could
bool leaveAllNetworks() {
  return ::unshare(CLONE_NEWNET) == 0 &&
         std::system("ip link set lo up 2>/dev/null") == 0;  // NOLINT(concurrency-mt-unsafe)
}

/// No network of this host leads to where the rank is: that does not mean that it is gone.
TEST(Dialer, WhoCannotBeTriedIsNotGone) {
  bool alone = false;
  Status never;
  std::array<Status, 2> oneRefuses;
  std::thread([&] {
    alone = leaveAllNetworks();
    if (!alone) return;
    const auto dial = [](const std::vector<SocketAddress>& addresses, milliseconds limit) {
      return dialRank(3, addresses, keyOf(1), kSelf, Deadline::within(limit), nobodyGivesUp)
          .status();
    };
    const SocketAddress nowhere = *SocketAddress::parse("10.9.8.7:4000");
    Listener gone;
    gone.stop();
    never = dial({nowhere}, milliseconds{2500});
    oneRefuses = {dial({gone.address(), nowhere}, kPatience),
                  dial({nowhere, gone.address()}, kPatience)};
  }).join();
  if (!alone) GTEST_SKIP() << "needs the right to make network namespaces, and iproute2";
  EXPECT_EQ(never.code(), StatusCode::kTimeout);
  EXPECT_EQ(never.message(),
            "rank 3 cannot be reached at 10.9.8.7:4000: cannot connect to 10.9.8.7:4000: "
            "Network is unreachable");
  for (const Status& status : oneRefuses)
    EXPECT_EQ(status.code(), StatusCode::kPeerLost) << status.message();
}

TEST(Dialer, StopsWhenTheCommunicatorFails) {
  Listener gone;
  gone.stop();
  const Status status =
      dialRank(3, std::vector{gone.address()}, keyOf(1), kSelf, Deadline::within(kPatience), [] {
        return Status::aborted("over");
      }).status();
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_EQ(status.message(), "over");
}

TEST(Dialer, WhoHasAnotherSecretIsNoRankOfThisJob) {
  const Listener listener;
  std::thread server([&] {
    while (listener.letOneIn().status().code() == StatusCode::kMismatch) {
    }
  });
  const Status status = dialRank(3, std::vector{listener.address()}, keyOf(2), kSelf,
                                 Deadline::within(kPatience), nobodyGivesUp)
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kMismatch) << status.message();
  const Result<FileDescriptor> last = dialRank(3, std::vector{listener.address()}, keyOf(1), kSelf,
                                               Deadline::within(kPatience), nobodyGivesUp);
  server.join();
  EXPECT_TRUE(last.ok());
}

TEST(Dialer, ARankWithoutAnAddressCannotBeReached) {
  const Status status =
      dialRank(3, {}, keyOf(1), kSelf, Deadline::within(kPatience), nobodyGivesUp).status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace rondo
