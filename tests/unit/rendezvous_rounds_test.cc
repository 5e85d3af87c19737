// Rendezvous of several rounds: all goes well, and ranks that leave, die or do not come between and
// within rounds.
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "src/bootstrap/rendezvous_messages.h"
#include "src/bootstrap/rendezvous_session.h"
#include "src/net/socket.h"
#include "tests/unit/rendezvous_ranks.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using namespace testing_ranks;  // NOLINT(google-build-using-namespace)

using Session = std::unique_ptr<RendezvousSession>;

Session openSession(const UniqueId& id, int rank, int ranks, milliseconds timeout = kPatience) {
  Result<Session> session = RendezvousSession::open(id, rank, ranks, loopbackSettings(timeout));
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? *std::move(session) : nullptr;
}

std::string payloadIn(int rank, int round) {
  return fmt::format("rank {} round {}", rank, round);
}

/// Whether `session` gets what all ranks give in round `round`.
bool goThrough(RendezvousSession& session, int rank, int ranks, int round) {
  const Payloads payloads = session.allGather(payloadIn(rank, round));
  EXPECT_TRUE(payloads.ok()) << payloads.status().message();
  if (!payloads.ok() || payloads->size() != static_cast<std::size_t>(ranks)) return false;
  for (int other = 0; other < ranks; ++other) {
    if ((*payloads)[static_cast<std::size_t>(other)] != payloadIn(other, round)) return false;
  }
  return true;
}

/// Runs `body(session, rank)` on a thread per rank, after a first round.
template <class Body>
void withRanks(const UniqueId& id, int ranks, milliseconds timeout, const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Session session = openSession(id, rank, ranks, timeout);
      ASSERT_NE(session, nullptr);
      ASSERT_TRUE(goThrough(*session, rank, ranks, 0));
      body(session, rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

bool endsWithin(const Rendezvous& rendezvous, milliseconds limit) {
  const Deadline deadline = Deadline::within(limit);
  while (!rendezvous.ended() && !deadline.passed())
    std::this_thread::sleep_for(milliseconds{1});
  return rendezvous.ended();
}

TEST(RendezvousRounds, ManyRoundsThenTheServiceEnds) {
  for (const int ranks : {1, 2, 5}) {
    const auto rendezvous = startRendezvous();
    withRanks(rendezvous->id(), ranks, kPatience, [&](const Session& session, int rank) {
      for (int round = 1; round < 50; ++round)
        EXPECT_TRUE(goThrough(*session, rank, ranks, round));
    });
    EXPECT_TRUE(endsWithin(*rendezvous, milliseconds{20000}));
  }
}

TEST(RendezvousRounds, ThePortIsFreeAfterTheFirstRound) {
  const auto rendezvous = startRendezvous();
  const int port = readUniqueId(rendezvous->id())->addresses.front().port();
  withRanks(rendezvous->id(), 2, kPatience, [&](const Session& session, int rank) {
    if (rank == 0) {
      EXPECT_TRUE(listenEverywhere({port, port}).ok());
    }
    EXPECT_TRUE(goThrough(*session, rank, 2, 1));
  });
}

TEST(RendezvousRounds, ALastRankMayBeSlowToCome) {
  const auto rendezvous = startRendezvous();
  withRanks(rendezvous->id(), 3, kPatience, [&](const Session& session, int rank) {
    // Longer than a stranger may take.
    if (rank == 2) std::this_thread::sleep_for(milliseconds{2500});
    EXPECT_TRUE(goThrough(*session, rank, 3, 1));
  });
}

TEST(RendezvousRounds, LargePayloadsInEachRound) {
  const auto rendezvous = startRendezvous();
  withRanks(rendezvous->id(), 4, kPatience, [&](const Session& session, int rank) {
    for (int round = 1; round < 5; ++round) {
      const Payloads payloads =
          session->allGather(std::string(kMaxExchangeBytes, static_cast<char>('a' + rank + round)));
      ASSERT_TRUE(payloads.ok()) << payloads.status().message();
      EXPECT_EQ(payloads->back().front(), static_cast<char>('a' + 3 + round));
    }
    EXPECT_EQ(session->allGather(std::string(kMaxExchangeBytes + 1, 'x')).status().code(),
              StatusCode::kInvalidArgument);
  });
}

TEST(RendezvousRounds, ARankThatLeavesIsNamedToThoseThatGoOn) {
  const auto rendezvous = startRendezvous();
  withRanks(rendezvous->id(), 4, kPatience, [&](Session& session, int rank) {
    if (rank == 2) return session.reset();
    expectFailure(session->allGather(""), StatusCode::kPeerLost,
                  {"rank 2", "ended its part", "round 1"});
    EXPECT_EQ(session->allGather("").status().code(), StatusCode::kInvalidUsage);
  });
  EXPECT_TRUE(endsWithin(*rendezvous, milliseconds{20000}));
}

TEST(RendezvousRounds, ARankThatLeavesBeforeTheFirstRoundIsNamed) {
  const auto rendezvous = startRendezvous();
  openSession(rendezvous->id(), 1, 2).reset();
  expectFailure(joinRendezvous(rendezvous->id(), 0, 2, "", loopbackSettings()),
                StatusCode::kPeerLost, {"rank 1", "ended its part", "joined"});
}

/// A session by hand, whose end says nothing.
FileDescriptor goThroughByHand(const UniqueId& id, int rank, int ranks) {
  const UniqueIdContent content = *readUniqueId(id);
  FileDescriptor socket = *connectOnce(content.addresses.front(), Deadline::within(kPatience));
  EXPECT_TRUE(authenticateAsClient(socket.get(), content.secret,
                                   {PeerRole::kRendezvous, rank, ranks},
                                   Deadline::within(kPatience))
                  .ok());
  std::vector<std::byte> join;
  appendJoin(join, {.patience = kPatience, .payload = payloadIn(rank, 0)});
  EXPECT_TRUE(sendAll(socket.get(), join, Deadline::within(kPatience), "the root").ok());
  for (int entry = 0; entry < ranks; ++entry)
    EXPECT_TRUE(receiveFrame(socket.get(), Deadline::within(kPatience), "the root").ok());
  return socket;
}

/// Rank 3 of 4 goes without a farewell `delay` after the first round.
void loseRankAfter(milliseconds delay) {
  const auto rendezvous = startRendezvous();
  std::thread victim([&] {
    const FileDescriptor socket = goThroughByHand(rendezvous->id(), 3, 4);
    std::this_thread::sleep_for(delay);
  });
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      const Session session = openSession(rendezvous->id(), rank, 4);
      ASSERT_TRUE(goThrough(*session, rank, 4, 0));
      std::this_thread::sleep_for(milliseconds{100});
      const auto start = Deadline::Clock::now();
      expectFailure(session->allGather(""), StatusCode::kPeerLost,
                    {"rank 3", "closed its connection", "round 1"});
      EXPECT_LT(Deadline::Clock::now() - start, kPatience / 2);
    });
  }
  victim.join();
  for (std::thread& rank : ranks)
    rank.join();
  EXPECT_TRUE(endsWithin(*rendezvous, milliseconds{20000}));
}

TEST(RendezvousRounds, ARankThatDiesBetweenRoundsIsNamed) {
  loseRankAfter(milliseconds{0});
}

TEST(RendezvousRounds, ARankThatDiesWithinARoundIsNamed) {
  loseRankAfter(milliseconds{300});
}

TEST(RendezvousRounds, AMissingRankInALaterRoundIsNamed) {
  const auto rendezvous = startRendezvous();
  const auto start = Deadline::Clock::now();
  withRanks(rendezvous->id(), 3, milliseconds{800}, [&](const Session& session, int rank) {
    if (rank == 1) return std::this_thread::sleep_for(milliseconds{2000});
    expectFailure(session->allGather(""), StatusCode::kTimeout,
                  {"only 2 of 3", "round 1", "missing: rank 1"});
    EXPECT_LT(Deadline::Clock::now() - start, milliseconds{1900});
  });
}

TEST(RendezvousRounds, ARankInAnotherRoundIsNamed) {
  const auto rendezvous = startRendezvous();
  std::thread odd([&] {
    const FileDescriptor socket = goThroughByHand(rendezvous->id(), 1, 2);
    std::vector<std::byte> join;
    appendJoin(join, {.round = 7, .patience = kPatience, .payload = ""});
    EXPECT_TRUE(sendAll(socket.get(), join, Deadline::within(kPatience), "the root").ok());
    (void)receiveFrame(socket.get(), Deadline::within(kPatience), "the root");
  });
  const Session session = openSession(rendezvous->id(), 0, 2);
  EXPECT_TRUE(goThrough(*session, 0, 2, 0));
  expectFailure(session->allGather(""), StatusCode::kMismatch, {"rank 1", "round 7", "round 1"});
  odd.join();
}

TEST(RendezvousRounds, StrangersDisturbNoRound) {
  const auto rendezvous = startRendezvous();
  const SocketAddress address = readUniqueId(rendezvous->id())->addresses.front();
  std::vector<FileDescriptor> held;
  for (int i = 0; i < 20; ++i)
    held.push_back(*connectOnce(address, Deadline::within(kPatience)));
  withRanks(rendezvous->id(), 4, kPatience, [&](const Session& session, int rank) {
    for (int round = 1; round < 20; ++round) {
      EXPECT_FALSE(connectOnce(address, Deadline::within(kPatience)).ok()) << "the door is closed";
      EXPECT_TRUE(goThrough(*session, rank, 4, round));
    }
  });
  EXPECT_TRUE(endsWithin(*rendezvous, milliseconds{20000}));
}

TEST(RendezvousRounds, AProbeFindsTheRootAndDisturbsNothing) {
  const auto rendezvous = startRendezvous();
  UniqueIdContent place = *readUniqueId(rendezvous->id());
  const SocketAddress root = place.addresses.front();
  place.addresses.insert(place.addresses.begin(), root.withPort(1));
  const Result<SocketAddress> found =
      probeForRoot(place, 0, 2, Deadline::within(milliseconds{5000}));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, root);
  expectComplete(joinAll(rendezvous->id(), allRanks(2)));
}

// Field case N01.
TEST(RendezvousRounds, ATimerThatInterruptsEveryCallDisturbsNothing) {
  struct sigaction action {};

  struct sigaction before {};

  action.sa_handler = [](int) {};  // no SA_RESTART
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval every{.it_interval = {0, 1000}, .it_value = {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
  for (int run = 0; run < 5; ++run) {
    const auto rendezvous = startRendezvous();
    withRanks(rendezvous->id(), 4, kPatience, [&](const Session& session, int rank) {
      for (int round = 1; round < 20; ++round)
        EXPECT_TRUE(goThrough(*session, rank, 4, round));
    });
  }
  const itimerval off{};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
}  // namespace rondo
