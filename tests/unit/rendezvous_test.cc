// The rendezvous when all goes well, and when arguments are wrong.
#include "src/bootstrap/rendezvous.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/bootstrap/handshake.h"
#include "src/net/socket.h"
#include "tests/unit/rendezvous_ranks.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using namespace testing_ranks;  // NOLINT(google-build-using-namespace)

TEST(Rendezvous, GivesAllPayloadsToAll) {
  for (const int ranks : {1, 2, 8}) {
    const auto rendezvous = startRendezvous();
    ASSERT_NE(rendezvous, nullptr);
    expectComplete(joinAll(rendezvous->id(), allRanks(ranks)));
  }
}

// Field case N07.
TEST(Rendezvous, SixtyFourRanksAtOnce) {
  const auto rendezvous = startRendezvous();
  ASSERT_NE(rendezvous, nullptr);
  const auto start = Deadline::Clock::now();
  expectComplete(joinAll(rendezvous->id(), allRanks(64)));
  const std::chrono::duration<double> took = Deadline::Clock::now() - start;
  std::printf("64 ranks: %.3f s\n", took.count());
}

TEST(Rendezvous, PayloadsAreAnyBytesOfAnyLength) {
  const auto rendezvous = startRendezvous();
  const std::string longest(kMaxExchangeBytes, '\xff');
  Payloads first = Status::internal("has not run");
  std::thread other(
      [&] { first = joinRendezvous(rendezvous->id(), 0, 2, longest, loopbackSettings()); });
  const Payloads second = joinRendezvous(rendezvous->id(), 1, 2, "", loopbackSettings());
  other.join();
  for (const Payloads& result : {first, second}) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(*result, (std::vector<std::string>{longest, ""}));
  }
}

TEST(Rendezvous, MegabytesReachASlowReader) {
  // More than socket buffers hold, so that the root has to come back to each rank many times.
  const auto rendezvous = startRendezvous();
  constexpr int kRanks = 48;
  std::vector<std::thread> threads;
  std::vector<Payloads> results(kRanks, Status::internal("has not run"));
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      results[static_cast<std::size_t>(rank)] = joinRendezvous(
          rendezvous->id(), rank, kRanks, std::string(kMaxExchangeBytes, 'x'), loopbackSettings());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const Payloads& result : results) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->back().size(), kMaxExchangeBytes);
  }
}

// Field case N08, as the next one.
TEST(Rendezvous, AFixedPortCanBeUsedAgainAtOnce) {
  int port = 0;
  for (int run = 0; run < 10; ++run) {
    RendezvousSettings settings = loopbackSettings();
    settings.portFirst = settings.portLast = port;
    const auto rendezvous = startRendezvous(settings);
    ASSERT_NE(rendezvous, nullptr);
    port = readUniqueId(rendezvous->id())->addresses.front().port();
    expectComplete(joinAll(rendezvous->id(), allRanks(2)));
  }
}

TEST(Rendezvous, AHeldPortIsNamed) {
  const Result<FileDescriptor> held = listenEverywhere({});
  ASSERT_TRUE(held.ok());
  const int port = localAddress(held->get())->port();
  RendezvousSettings settings = loopbackSettings();
  settings.portFirst = settings.portLast = port;
  const Status status = Rendezvous::start(settings).status();
  EXPECT_EQ(status.code(), StatusCode::kSystemError);
  EXPECT_NE(status.message().find(std::to_string(port)), std::string_view::npos);
  EXPECT_NE(status.message().find("Address already in use"), std::string_view::npos);
}

TEST(Rendezvous, AdvertisesWhatItIsTold) {
  for (const char* host : {"127.0.0.1", "127.0.0.2", "::1"}) {
    const SocketAddress address = *SocketAddress::parseHost(host);
    if (!listenOn(address, {}).ok()) {
      std::printf("skipped %s: this host has no such address\n", host);
      continue;
    }
    RendezvousSettings settings = loopbackSettings();
    settings.advertisedAddress = host;
    const auto rendezvous = startRendezvous(settings);
    ASSERT_NE(rendezvous, nullptr);
    const std::vector<SocketAddress> addresses = readUniqueId(rendezvous->id())->addresses;
    ASSERT_EQ(addresses.size(), 1U);
    EXPECT_EQ(addresses.front().hostText(), host);
    expectComplete(joinAll(rendezvous->id(), allRanks(2)));
  }
  RendezvousSettings settings = loopbackSettings();
  settings.advertisedAddress = "somewhere";
  EXPECT_EQ(Rendezvous::start(settings).status().code(), StatusCode::kInvalidArgument);
}

TEST(Rendezvous, BadArgumentsAreNamed) {
  const auto rendezvous = startRendezvous();
  const RendezvousSettings settings = loopbackSettings();
  const auto join = [&](int rank, int ranks, std::size_t payloadBytes) {
    return joinRendezvous(rendezvous->id(), rank, ranks, std::string(payloadBytes, 'x'), settings);
  };
  expectFailure(join(2, 2, 0), StatusCode::kInvalidArgument, {"rank 2 of 2"});
  expectFailure(join(-1, 2, 0), StatusCode::kInvalidArgument, {"rank -1 of 2"});
  expectFailure(join(0, 0, 0), StatusCode::kInvalidArgument, {"0 ranks"});
  expectFailure(join(0, 1, kMaxExchangeBytes + 1), StatusCode::kInvalidArgument, {"16385 bytes"});
  expectFailure(joinRendezvous(UniqueId{}, 0, 1, "", settings), StatusCode::kInvalidArgument,
                {"no unique id"});
  RendezvousSettings range = settings;
  range.portFirst = 5;
  EXPECT_EQ(Rendezvous::start(range).status().code(), StatusCode::kInvalidArgument);
  RendezvousSettings nowhere = settings;
  nowhere.interfaces = "nothing*";
  EXPECT_EQ(Rendezvous::start(nowhere).status().code(), StatusCode::kInvalidArgument);
}

TEST(Rendezvous, EndsWithItsOwner) {
  // Unused, and with a connection that says nothing.
  for (const bool visited : {false, true}) {
    auto rendezvous = startRendezvous();
    Result<FileDescriptor> visitor = Status::internal("nobody");
    if (visited) {
      visitor = connectOnce(readUniqueId(rendezvous->id())->addresses.front(),
                            Deadline::within(kPatience));
      ASSERT_TRUE(visitor.ok());
    }
    const auto start = Deadline::Clock::now();
    rendezvous.reset();
    EXPECT_LT(Deadline::Clock::now() - start, std::chrono::seconds{2});
  }
}

}  // namespace
}  // namespace rondo
