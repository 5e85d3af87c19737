// The tests that every transport has to pass. Ranks are threads of the test, or turns of one
// thread; what the end of a process is to its peers, here is the destruction of a transport.
#include "tests/transport/transport_body.h"

#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include <poll.h>

#include "tests/transport/transport_team.h"

namespace rondo::testing {
namespace {

constexpr SlotShape kSmallSlots{4096, 4};

/// One direction between ranks 0 and 1.
struct OneStream {
  explicit OneStream(TransportTeam& team)
      : sending(*team[0].connect(0, 1, 0)),
        receiving(*team[1].connect(0, 1, 0)),
        send({0, 1, 0}, sending),
        recv({0, 1, 0}, receiving) {}

  ConnectionMemory sending;
  ConnectionMemory receiving;
  SendStream send;
  RecvStream recv;
};

/// Sends and receives `slots` more.
void pass(TransportTeam& team, OneStream& stream, std::uint64_t slots) {
  const std::uint64_t goal = stream.recv.released() + slots;
  team.progressUntil([&] {
    if (stream.send.posted() < goal) stream.send.step();
    stream.recv.step();
    return stream.recv.released() == goal;
  });
}

std::vector<pollfd> watchedBy(const Transport& transport) {
  std::vector<int> descriptors;
  transport.watch(descriptors);
  std::vector<pollfd> events;
  for (const int descriptor : descriptors)
    events.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  return events;
}

TEST_P(TransportTest, OffersAreShortAndNameTheirMaker) {
  const auto one = GetParam().make({0, 2, kSmallSlots, 1});
  const auto other = GetParam().make({1, 2, kSmallSlots, 1});
  EXPECT_FALSE(one->transport().name().empty());
  const Result<std::string> offer = one->transport().offer();
  const Result<std::string> otherOffer = other->transport().offer();
  ASSERT_TRUE(offer.ok() && otherOffer.ok());
  EXPECT_FALSE(offer->empty());
  EXPECT_LE(offer->size(), kMaxOfferBytes);
  EXPECT_NE(*offer, *otherOffer);
  EXPECT_TRUE(one->transport().canReach(1, *otherOffer));
  EXPECT_TRUE(other->transport().canReach(0, *offer));
}

TEST_P(TransportTest, NobodyIsReachedWithoutAnOffer) {
  const auto one = GetParam().make({0, 2, kSmallSlots, 1});
  ASSERT_TRUE(one->transport().offer().ok());
  EXPECT_FALSE(one->transport().canReach(1, ""));
}

TEST_P(TransportTest, GivesUpBeforeAnybodyOpens) {
  const auto alone = GetParam().make({0, 2, kSmallSlots, 1});
  ASSERT_TRUE(alone->transport().offer().ok());
  EXPECT_TRUE(alone->transport().flushed());
  EXPECT_TRUE(alone->transport().taken());
  EXPECT_EQ(alone->transport().whyLost(1), "");
}

TEST_P(TransportTest, GivesSlotsOfTheShapeThatWasAskedFor) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  const OneStream stream(team);
  for (const ConnectionMemory& memory : {stream.sending, stream.receiving}) {
    EXPECT_EQ(memory.slotBytes, kSmallSlots.bytes);
    EXPECT_TRUE(memory.slotCount == kSmallSlots.count || memory.slotCount == 2);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.slots) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.control) % 64, 0U);
  }
  EXPECT_EQ(stream.sending.slotCount, stream.receiving.slotCount);
}

TEST_P(TransportTest, EveryShapeOfSlotsArrivesOnceWholeAndInOrder) {
  struct Case {
    SlotShape slots;
    std::uint64_t fillings;
  };

  for (const Case& test : {Case{{64, 2}, 2000}, Case{{64, kMaxSlots}, 4000}, Case{{4096, 3}, 1000},
                           Case{{65536, 2}, 150}, Case{{65536, 8}, 200}}) {
    SCOPED_TRACE(::testing::Message() << test.slots.count << " of " << test.slots.bytes);
    TransportTeam team(GetParam(), 2, test.slots);
    runExchanges(team, {.channels = 1, .fillings = test.fillings});
  }
}

TEST_P(TransportTest, ManyRanksAndChannelsDoNotMix) {
  TransportTeam team(GetParam(), 4, {1024, 4});
  runExchanges(team, {.channels = 6, .fillings = 100});
}

TEST_P(TransportTest, TheLastChannelIsOne) {
  TransportTeam team(GetParam(), 2, {64, 2});
  runExchanges(team, {.channels = kMaxChannels, .fillings = 20});
}

TEST_P(TransportTest, ASenderHasNoMoreSlotsThanThereAre) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  OneStream stream(team);
  while (stream.send.step())
    ASSERT_LE(stream.send.posted(), stream.sending.slotCount);
  EXPECT_EQ(stream.send.posted(), stream.sending.slotCount);
  team.progressUntil([&] { return team[0].flushed() && stream.recv.full(); });
  EXPECT_FALSE(stream.send.step());
  for (int release = 0; release < 10; ++release) {
    team.progressUntil([&] { return stream.recv.step(); });
    team.progressUntil([&] { return stream.send.step(); });
    EXPECT_FALSE(stream.send.step());
  }
}

TEST_P(TransportTest, TellsWhatCrossed) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  if (team[0].sharesMemory()) GTEST_SKIP() << "what is posted is there";
  OneStream stream(team);
  EXPECT_TRUE(team[0].flushed());
  EXPECT_TRUE(team[0].taken());
  stream.send.step();
  stream.send.step();
  EXPECT_FALSE(team[0].flushed());
  EXPECT_FALSE(team[0].taken());
  EXPECT_EQ(team[0].traffic(1).posted, 2U);
  team.progressUntil([&] { return team[0].flushed() && team[1].traffic(0).arrived == 2; });
  EXPECT_FALSE(team[0].taken());
  EXPECT_EQ(team[0].traffic(1).credited, 0U);
  EXPECT_TRUE(stream.recv.step());
  EXPECT_EQ(team[1].traffic(0).released, 1U);
  team.progressUntil([&] { return team[0].traffic(1).credited == 1; });
  EXPECT_FALSE(team[0].taken());
  EXPECT_TRUE(stream.recv.step());
  team.progressUntil([&] { return team[0].taken(); });
  const Traffic known = team[0].traffic(1);
  EXPECT_EQ(known.posted, 2U);
  EXPECT_EQ(known.credited, 2U);
  EXPECT_EQ(known.arrived + known.released, 0U);
}

TEST_P(TransportTest, WhatIsWatchedWakesTheReceiver) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  if (team[0].sharesMemory()) GTEST_SKIP() << "doorbells wake it";
  OneStream stream(team);
  pass(team, stream, 1);
  std::vector<pollfd> events = watchedBy(team[1]);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(::poll(events.data(), events.size(), 0), 0) << "nothing is to be done";
  stream.send.step();
  while (!team[0].flushed())
    ASSERT_TRUE(team[0].progress().ok());
  EXPECT_GT(::poll(events.data(), events.size(), static_cast<int>(kTransportPatience.count())), 0);
  team.progressUntil([&] { return stream.recv.step(); });
}

TEST_P(TransportTest, ALossIsNoticedWhenAllThatCameIsTaken) {
  TransportTeam team(GetParam(), 3, kSmallSlots);
  if (team[0].sharesMemory()) GTEST_SKIP() << "the board tells whose process has ended";
  OneStream stream(team);
  stream.send.step();
  stream.send.step();
  team.progressUntil([&] { return team[0].flushed() && stream.recv.full(); });
  EXPECT_FALSE(team[1].drained(0)) << "more may come of a rank that lives";
  EXPECT_EQ(team[1].whyLost(0), "");
  team.end(0);
  team.progressUntil([&] { return team[1].drained(0); });
  EXPECT_NE(team[1].whyLost(0), "");
  EXPECT_EQ(team[1].whyLost(2), "");
  EXPECT_TRUE(stream.recv.step());
  EXPECT_TRUE(stream.recv.step());
}

TEST_P(TransportTest, ASenderNoticesThatTheReceiverIsGone) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  if (team[0].sharesMemory()) GTEST_SKIP() << "the board tells whose process has ended";
  OneStream stream(team);
  pass(team, stream, 1);
  stream.send.step();
  team.end(1);
  team.progressUntil([&] {
    stream.send.step();
    return !team[0].whyLost(1).empty();
  });
  EXPECT_TRUE(team[0].flushed()) << "nothing can go out";
  EXPECT_TRUE(team[0].taken()) << "nor be taken";
}

TEST_P(TransportTest, LeavingInGoodOrderIsNoLoss) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  OneStream stream(team);
  pass(team, stream, 11);
  team.progressUntil([&] { return team[0].taken(); });
  team[0].close();
  team.end(0);
  const Deadline later = Deadline::within(std::chrono::milliseconds{200});
  team.progressUntil([&] { return later.passed() && team[1].drained(0); });
  EXPECT_EQ(team[1].whyLost(0), "");
  EXPECT_FALSE(stream.recv.full());
}

TEST_P(TransportTest, WhoClosesGivesItsLastCredits) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  OneStream stream(team);
  stream.send.step();
  team.progressUntil([&] { return stream.recv.full(); });
  EXPECT_TRUE(stream.recv.step());
  team[1].close();  // and lives on, as a rank that was finalized
  const Deadline deadline = Deadline::within(kTransportPatience);
  while (!team[0].taken() && !deadline.passed())
    ASSERT_TRUE(team[0].progress().ok());
  EXPECT_TRUE(team[0].taken());
}

TEST_P(TransportTest, AReceiverThatHasLeftKeepsNobodyAwake) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  OneStream stream(team);
  pass(team, stream, 3);
  team.progressUntil([&] { return team[0].taken(); });
  team[1].close();
  team.end(1);
  EXPECT_TRUE(team[0].progress().ok());
  std::vector<pollfd> events = watchedBy(team[0]);
  EXPECT_EQ(::poll(events.data(), events.size(), 50), 0);
  EXPECT_EQ(team[0].whyLost(1), "");
}

TEST_P(TransportTest, RanksMayGoInAnyOrder) {
  for (const std::array<int, 3>& order : {std::array{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}}) {
    TransportTeam team(GetParam(), 3, kSmallSlots);
    runExchanges(team, {.channels = 1, .fillings = 5});
    for (std::size_t gone = 0; gone < order.size(); ++gone) {
      team[order[gone]].close();
      team.end(order[gone]);
      for (std::size_t left = gone + 1; left < order.size(); ++left) {
        EXPECT_TRUE(team[order[left]].progress().ok());
        EXPECT_EQ(team[order[left]].whyLost(order[gone]), "");
      }
    }
  }
}

TEST_P(TransportTest, ConnectingToWhoIsGoneEnds) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  team.end(1);
  const auto start = Deadline::Clock::now();
  const Result<ConnectionMemory> sending = team[0].connect(0, 1, 0);
  const Result<ConnectionMemory> receiving = team[0].connect(1, 0, 0);
  EXPECT_LT(Deadline::Clock::now() - start, kTransportPatience);
  EXPECT_TRUE(receiving.ok()) << receiving.status().message();
  ASSERT_TRUE(sending.ok()) << "whyLost() is to tell, instead of: " << sending.status().message();
  if (team[0].sharesMemory()) return;
  SendStream stream({0, 1, 0}, *sending);
  stream.step();
  team.progressUntil([&] { return !team[0].whyLost(1).empty(); });
  EXPECT_TRUE(team[0].taken());
}

TEST_P(TransportTest, AConnectionThatOnlyThePeerHasMadeIsOfNoAccount) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  ASSERT_TRUE(team[0].connect(0, 1, 0).ok());
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_TRUE(team[1].progress().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  const Traffic known = team[1].traffic(0);
  EXPECT_EQ(known.posted + known.released + known.arrived + known.credited, 0U);
  EXPECT_TRUE(team[1].flushed() && team[1].taken());
  EXPECT_EQ(team[1].whyLost(0), "");
}

TEST_P(TransportTest, TellsHowMuchMemoryItHolds) {
  TransportTeam team(GetParam(), 2, kSmallSlots);
  const std::size_t before = team[0].memoryBytes();
  constexpr int kConnections = 6;
  for (int channel = 0; channel < kConnections; ++channel)
    ASSERT_TRUE(team[0].connect(0, 1, channel).ok());
  const std::size_t grown = team[0].memoryBytes() - before;
  constexpr std::size_t kSlotMemory = kConnections * kSmallSlots.bytes * kSmallSlots.count;
  EXPECT_GE(grown, kSlotMemory / 2);
  EXPECT_LE(grown, kSlotMemory * 4);
}

TEST_P(TransportTest, JobsOfOneProcessDoNotMeet) {
  TransportTeam first(GetParam(), 2, kSmallSlots, 1);
  TransportTeam second(GetParam(), 2, {256, 3}, 2);
  std::thread other([&] { runExchanges(second, {.channels = 2, .fillings = 500}); });
  runExchanges(first, {.channels = 2, .fillings = 500});
  other.join();
  second.end(0);
  second.end(1);
  EXPECT_TRUE(first[0].progress().ok() && first[1].progress().ok());
  EXPECT_EQ(first[0].whyLost(1), "");
  EXPECT_EQ(first[1].whyLost(0), "");
}

}  // namespace
}  // namespace rondo::testing
