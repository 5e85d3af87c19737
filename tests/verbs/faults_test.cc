// What can go wrong with adapters, and what is said about it: over the double, which does it on
// command.
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transport/transport_team.h"
#include "tests/transport/verbs_rank.h"
#include "tests/verbs/impatient.h"
#include "tests/verbs/verbs_double/controls.h"
#include "transports/verbs/device.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr SlotShape kSlots{4096, 4};

/// One direction between ranks 0 and 1.
class FaultTest : public ::testing::Test {
 protected:
  FaultTest()
      : team_(impatientKind(), 2, kSlots),
        send_({0, 1, 0}, *team_[0].connect(0, 1, 0)),
        recv_({0, 1, 0}, *team_[1].connect(0, 1, 0)) {}

  ~FaultTest() override {
    rondoVerbsFailCall(nullptr, 0, 0);
    rondoVerbsFailRequest(0, IBV_WC_SUCCESS);
    for (const char* adapter : {"rdma0", "rdma1"})
      rondoVerbsSetPort(adapter, 1);
  }

  /// Sends and receives `count` slots.
  void pass(std::uint64_t count) {
    const std::uint64_t goal = recv_.released() + count;
    team_.progressUntil([&] {
      if (send_.posted() < goal) send_.step();
      recv_.step();
      return recv_.released() == goal && team_[0].taken();
    });
  }

  /// The first error of progress() on `rank`, once it comes.
  Status errorOn(int rank) {
    const Deadline deadline = Deadline::within(kTransportPatience);
    while (!deadline.passed()) {
      const Result<bool> progressed = team_[rank].progress();
      if (!progressed.ok()) return progressed.status();
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return {};
  }

  TransportTeam team_;
  SendStream send_;
  RecvStream recv_;
};

TEST_F(FaultTest, APortThatStaysDownIsAnErrorThatNamesIt) {
  pass(3);
  rondoVerbsSetPort("rdma0", 0);
  for (const int rank : {0, 1}) {
    const Status error = errorOn(rank);
    EXPECT_EQ(error.code(), StatusCode::kSystemError);
    EXPECT_EQ(
        error.message(),
        fmt::format("rdma0 port 1 has gone down; connections with ranks {} use it: see to it, "
                    "or leave it out by RONDO_IB_DEVICES, and make the communicator again",
                    1 - rank));
  }
}

TEST_F(FaultTest, APortThatComesBackInTimeIsNone) {
  pass(3);
  rondoVerbsSetPort("rdma0", 0);
  send_.step();
  for (int turn = 0; turn < 200; ++turn)
    ASSERT_TRUE(team_[0].progress().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  rondoVerbsSetPort("rdma0", 1);
  pass(20);
  EXPECT_EQ(team_[0].whyLost(1), "");
  EXPECT_EQ(team_[1].whyLost(0), "");
}

TEST_F(FaultTest, AnAddressThatMovedIsAnErrorThatNamesBoth) {
  pass(3);
  rondoVerbsSetPort("rdma0", 0);
  rondoVerbsMoveGid("rdma0", 3, 99);
  rondoVerbsSetPort("rdma0", 1);
  EXPECT_THAT(std::string(errorOn(0).message()),
              StartsWith("rdma0 port 1 had GID 10.0.1.1 at index 3 and has 10.0.1.99 there now"));
  rondoVerbsMoveGid("rdma0", 3, 1);
}

/// It is this rank's error, so that it ends the communicator for all: a peer that lives, and is
/// reached by other connections, is not lost.
TEST_F(FaultTest, ASilentPathIsAnErrorInWords) {
  pass(3);
  rondoVerbsFailRequest(1, IBV_WC_RETRY_EXC_ERR);
  send_.step();
  for (int again = 0; again < 2; ++again) {
    const Status error = errorOn(0);
    EXPECT_EQ(error.code(), StatusCode::kSystemError);
    EXPECT_THAT(std::string(error.message()),
                AllOf(HasSubstr("rdma0 port 1 to rank 1: transport retry counter exceeded"),
                      HasSubstr("the peer's adapter does not answer")));
  }
  EXPECT_FALSE(team_[0].flushed()) << "an operation that only sends must not succeed";
  EXPECT_EQ(team_[0].whyLost(1), "");
}

/// Soft-RoCE does that if its network takes no packets.
TEST_F(FaultTest, RequestsThatAreNotTriedAreAnErrorThoughNothingSaysWhy) {
  pass(3);
  rondoVerbsFailRequest(1, IBV_WC_WR_FLUSH_ERR);
  send_.step();
  EXPECT_THAT(std::string(errorOn(0).message()),
              HasSubstr("the adapter has stopped the queue pair"));
}

TEST_F(FaultTest, ACreditThatFailsIsAnError) {
  send_.step();
  team_.progressUntil([&] { return recv_.full(); });
  rondoVerbsFailRequest(1, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(recv_.step());
  EXPECT_THAT(std::string(errorOn(1).message()),
              HasSubstr("rdma0 port 1 to rank 0: remote access error"));
}

/// Then the adapters' silence is the peer's end, whichever is noticed first.
TEST_F(FaultTest, APathToARankThatHasEndedIsItsLoss) {
  pass(3);
  team_.end(1);
  rondoVerbsFailRequest(1, IBV_WC_RETRY_EXC_ERR);
  send_.step();
  team_.progressUntil([&] { return !team_[0].whyLost(1).empty(); });
  EXPECT_THAT(team_[0].whyLost(1), Not(HasSubstr("transport retry counter exceeded")));
  EXPECT_TRUE(team_[0].flushed() && team_[0].taken()) << "nothing can cross any more";
}

TEST_F(FaultTest, ACreditToARankThatHasLeftMayFail) {
  send_.step();
  team_.progressUntil([&] { return recv_.full() && team_[0].flushed(); });
  team_[0].close();
  rondoVerbsFailRequest(1, IBV_WC_RETRY_EXC_ERR);
  EXPECT_TRUE(recv_.step());
  team_.progressUntil([&] { return team_[1].drained(0); });
  EXPECT_EQ(team_[1].whyLost(0), "");
}

TEST_F(FaultTest, ARequestThatIsRefusedIsAnError) {
  pass(1);
  rondoVerbsFailCall("ibv_post_send", 1, ENOMEM);
  send_.step();
  EXPECT_THAT(std::string(errorOn(0).message()),
              AllOf(HasSubstr("connection with rank 1"),
                    HasSubstr("rdma0 port 1 takes no request to send: Cannot allocate memory")));
}

TEST_F(FaultTest, AnAdapterThatFailsIsAnError) {
  pass(3);
  rondoVerbsBreak("rdma0");
  EXPECT_THAT(std::string(errorOn(0).message()), HasSubstr("rdma0 port 1 has failed"));
}

/// A second port is used by every other channel.
TEST_F(FaultTest, WhatNoConnectionUsesMayFail) {
  pass(3);
  rondoVerbsMoveGid("rdma1", 3, 99);
  rondoVerbsBreak("rdma1");
  pass(20);
  for (int turn = 0; turn < 200; ++turn)
    ASSERT_TRUE(team_[0].progress().ok());
  ASSERT_TRUE(team_[0].connect(0, 1, 1).ok());
  EXPECT_THAT(std::string(errorOn(0).message()), HasSubstr("rdma1 port 1 has failed"));
  rondoVerbsMoveGid("rdma1", 3, 1);
}

TEST_F(FaultTest, AnAddressThatMovedBeforeItWasUsedIsAnErrorOnceItIs) {
  rondoVerbsMoveGid("rdma1", 3, 99);
  pass(3);
  ASSERT_TRUE(team_[0].connect(0, 1, 1).ok());
  EXPECT_THAT(std::string(errorOn(0).message()),
              StartsWith("rdma1 port 1 had GID 10.1.1.1 at index 3 and has 10.1.1.99 there now"));
  rondoVerbsMoveGid("rdma1", 3, 1);
}

/// What has failed has not recovered because its port says that it is there.
TEST_F(FaultTest, GoodNewsOfThePortDoesNotUndoAFailure) {
  pass(3);
  rondoVerbsSetPort("rdma0", 0);
  rondoVerbsBreak("rdma0");
  rondoVerbsSetPort("rdma0", 1);
  EXPECT_THAT(std::string(errorOn(0).message()), HasSubstr("rdma0 port 1 has failed"));
}

/// Adapters that go on trying for 8 s hold up a rank that leaves once, not once for each
/// connection.
TEST(VerbsLeaving, WaitsOnceForAllWrites) {
  constexpr int kChannels = 16;
  TransportTeam team(
      {"patient", [](const RankPlace& place) { return std::make_unique<VerbsRank>(place); }}, 2,
      kSlots);
  std::vector<SendStream> sends;
  std::vector<RecvStream> recvs;
  for (int channel = 0; channel < kChannels; ++channel) {
    sends.emplace_back(StreamPlace{0, 1, channel}, *team[0].connect(0, 1, channel));
    recvs.emplace_back(StreamPlace{0, 1, channel}, *team[1].connect(0, 1, channel));
    sends.back().step();
  }
  team.progressUntil([&] {
    for (RecvStream& stream : recvs)
      stream.step();
    return team[0].taken() && team[0].flushed();
  });
  for (const char* adapter : {"rdma0", "rdma1"})
    rondoVerbsSetPort(adapter, 0);
  for (SendStream& stream : sends)
    stream.step();
  ASSERT_TRUE(team[0].progress().ok());
  ASSERT_FALSE(team[0].flushed());
  const auto begin = std::chrono::steady_clock::now();
  team[0].close();
  EXPECT_LT(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds{200} * kChannels / 2);
  for (const char* adapter : {"rdma0", "rdma1"})
    rondoVerbsSetPort(adapter, 1);
}

// Making connections.

/// Two ranks that are made step by step, until something fails.
Status makeConnection() {
  VerbsRank one({0, 2, kSlots, 1}, impatient());
  VerbsRank other({1, 2, kSlots, 1}, impatient());
  std::vector<std::string> offers;
  for (VerbsRank* rank : {&one, &other}) {
    const Result<std::string> offer = rank->transport().offer();
    RONDO_RETURN_IF_ERROR(offer.status());
    offers.push_back(*offer);
  }
  for (VerbsRank* rank : {&one, &other}) {
    RONDO_RETURN_IF_ERROR(rank->transport().open(offers, Deadline::within(kTransportPatience)));
    RONDO_RETURN_IF_ERROR(rank->start());
  }
  const Result<ConnectionMemory> sending = one.transport().connect(0, 1, 0);
  RONDO_RETURN_IF_ERROR(sending.status());
  const Result<ConnectionMemory> receiving = other.transport().connect(0, 1, 0);
  RONDO_RETURN_IF_ERROR(receiving.status());
  SendStream send({0, 1, 0}, *sending);
  RecvStream recv({0, 1, 0}, *receiving);
  send.step();
  const Deadline deadline = Deadline::within(kTransportPatience);
  while (!one.transport().taken() && !deadline.passed()) {
    RONDO_RETURN_IF_ERROR(one.transport().progress().status());
    RONDO_RETURN_IF_ERROR(other.transport().progress().status());
    recv.step();
    std::this_thread::yield();
  }
  return one.transport().taken() ? Status() : Status::timeout("nothing was taken");
}

/// Every call may fail, at every place: then something says what, and nothing is left behind.
TEST(VerbsFaults, EveryCallMayFail) {
  for (const char* symbol :
       {"ibv_get_device_list", "ibv_open_device", "ibv_query_device", "ibv_query_port",
        "ibv_alloc_pd", "ibv_create_comp_channel", "ibv_reg_mr", "ibv_create_cq", "ibv_create_qp",
        "ibv_modify_qp", "ibv_post_recv", "ibv_post_send"}) {
    for (int nth = 1; nth <= 6; ++nth) {
      SCOPED_TRACE(::testing::Message() << symbol << " " << nth);
      rondoVerbsFailCall(symbol, nth, EIO);
      const Status made = makeConnection();
      rondoVerbsFailCall(nullptr, 0, 0);
      EXPECT_NE(made.code(), StatusCode::kTimeout) << made.message();
      EXPECT_EQ(rondoVerbsObjects(), 0);
    }
  }
}

TEST_F(FaultTest, AnEndThatCannotBeMadeIsNotPaidFor) {
  const std::size_t before = team_[0].memoryBytes();
  for (const char* symbol : {"ibv_reg_mr", "ibv_create_cq"}) {
    for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
      rondoVerbsFailCall(symbol, 1, EIO);
      EXPECT_FALSE(team_[0].connect(from, to, 1).ok());
      EXPECT_EQ(team_[0].memoryBytes(), before) << symbol;
    }
  }
}

/// The first of these has no other adapter, and no other way, to fall back to.
TEST(VerbsFaults, WhatFailsIsNamed) {
  for (const char* symbol :
       {"ibv_reg_mr", "ibv_create_cq", "ibv_modify_qp", "ibv_post_recv", "ibv_post_send"}) {
    rondoVerbsFailCall(symbol, 1, EIO);
    const Status made = makeConnection();
    rondoVerbsFailCall(nullptr, 0, 0);
    EXPECT_THAT(std::string(made.message()),
                AllOf(HasSubstr("rdma0 port 1"), HasSubstr("Input/output error")))
        << symbol;
  }
}

/// Field test C04: the limit of locked memory, and what to do about it.
TEST(VerbsFaults, NoLockedMemoryIsExplained) {
  rondoVerbsFailCall("ibv_reg_mr", 0, ENOMEM);
  const Status made = makeConnection();
  rondoVerbsFailCall(nullptr, 0, 0);
  EXPECT_THAT(std::string(made.message()),
              AllOf(HasSubstr("rdma0 port 1 does not register"), HasSubstr("memlock"),
                    HasSubstr("ulimit -l unlimited")));
}

// Detours.

TransportKind detouringKind() {
  return {"detouring", [](const RankPlace& place) {
            return std::make_unique<VerbsRank>(place, impatient(), /*mayDetour=*/true);
          }};
}

/// One connection for which an adapter lacks something.
class DetourTest : public ::testing::Test {
 protected:
  DetourTest() : team_(detouringKind(), 2, kSlots) {}

  /// Makes both ends, of which the `nth` call of `symbol` fails; 0: all.
  void connect(const char* symbol, int nth) {
    rondoVerbsFailCall(symbol, nth, ENOMEM);
    const Result<ConnectionMemory> sending = team_[0].connect(0, 1, channel_);
    const Result<ConnectionMemory> receiving = team_[1].connect(0, 1, channel_);
    rondoVerbsFailCall(nullptr, 0, 0);
    ASSERT_TRUE(sending.ok()) << sending.status().message();
    ASSERT_TRUE(receiving.ok()) << receiving.status().message();
    send_.emplace(StreamPlace{0, 1, channel_}, *sending);
    recv_.emplace(StreamPlace{0, 1, channel_}, *receiving);
    ++channel_;
  }

  void pass(std::uint64_t count) {
    team_.progressUntil([&] {
      if (send_->posted() < count) send_->step();
      recv_->step();
      return recv_->released() == count && team_[0].taken() && team_[0].flushed();
    });
  }

  static int requests() { return rondoVerbsRequests("rdma0") + rondoVerbsRequests("rdma1"); }

  TransportTeam team_;
  int channel_ = 0;
  std::optional<SendStream> send_;
  std::optional<RecvStream> recv_;
};

/// Whichever end lacks it, and whatever it is, the slots go another way, and all of them arrive.
TEST_F(DetourTest, AreTakenByBothEnds) {
  for (const char* symbol : {"ibv_reg_mr", "ibv_create_cq", "ibv_create_qp"}) {
    for (const int nth : {1, 2, 0}) {
      SCOPED_TRACE(::testing::Message() << symbol << " " << nth);
      // A queue pair is asked for a second time, without inline data.
      if (symbol == std::string_view("ibv_create_qp") && nth != 0) continue;
      connect(symbol, nth);
      const int before = requests();
      pass(50);
      EXPECT_EQ(requests(), before);
    }
  }
  connect(nullptr, 0);
  const int before = requests();
  pass(50);
  EXPECT_GT(requests(), before) << "the adapter is used again when it has room";
}

TEST_F(DetourTest, CountLikeOtherConnections) {
  connect("ibv_reg_mr", 1);
  pass(5);
  EXPECT_EQ(team_[0].traffic(1).posted, 5U);
  EXPECT_EQ(team_[0].traffic(1).credited, 5U);
  EXPECT_EQ(team_[1].traffic(0).arrived, 5U);
  EXPECT_EQ(team_[1].traffic(0).released, 5U);
}

/// Goodbyes that come while the ends still agree, from either.
TEST_F(DetourTest, MayBeLeftBeforeAnythingCrosses) {
  for (const int nth : {1, 2, 0})
    for (const int turns : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << nth << " after " << turns);
      TransportTeam team(detouringKind(), 2, kSlots);
      rondoVerbsFailCall("ibv_reg_mr", nth, ENOMEM);
      EXPECT_TRUE(team[0].connect(0, 1, 0).ok());
      EXPECT_TRUE(team[1].connect(0, 1, 0).ok());
      rondoVerbsFailCall(nullptr, 0, 0);
      const auto progress = [&](int rank) {
        for (int turn = 0; turn < 200; ++turn)
          ASSERT_TRUE(team[rank].progress().ok());
      };
      for (int turn = 0; turn < turns; ++turn)
        progress(1 - turn % 2);
      team[0].close();
      progress(1);
      EXPECT_EQ(team[1].whyLost(0), "");
    }
}

TEST_F(DetourTest, ARankThatEndsIsALoss) {
  connect("ibv_reg_mr", 2);
  pass(5);
  send_->step();
  ASSERT_TRUE(team_[0].progress().ok());
  team_.end(0);
  team_.progressUntil([&] {
    recv_->step();
    return team_[1].drained(0);
  });
  EXPECT_EQ(recv_->released(), 6U);
  EXPECT_NE(team_[1].whyLost(0), "");
}

// Finding ports.

std::string whyNoPort(const verbs::Settings& settings) {
  const auto ports = verbs::findPorts(**verbs::systemLibrary(), settings);
  return ports.ok() ? "" : std::string(ports.status().message());
}

/// Field test C07.
TEST(VerbsPorts, OnlyActiveOnesAreUsed) {
  rondoVerbsSetPort("rdma0", 0);
  const auto ports = verbs::findPorts(**verbs::systemLibrary(), {});
  ASSERT_TRUE(ports.ok());
  ASSERT_EQ(ports->size(), 1U);
  EXPECT_EQ(ports->front()->name(), "rdma1 port 1");
  rondoVerbsSetPort("rdma1", 0);
  EXPECT_EQ(whyNoPort({}), "no port can be used: rdma0 port 1 is DOWN; rdma1 port 1 is DOWN");
  rondoVerbsSetPort("rdma0", 1);
  rondoVerbsSetPort("rdma1", 1);
}

TEST(VerbsPorts, SettingsRuleThemOut) {
  verbs::Settings settings;
  for (const char* allowed : {"rdma1", "rdma1:1", "^rdma0", "^rdma0:1", "*1"}) {
    settings.devices = allowed;
    const auto ports = verbs::findPorts(**verbs::systemLibrary(), settings);
    ASSERT_TRUE(ports.ok()) << allowed;
    EXPECT_EQ(ports->size(), allowed == std::string_view("*1") ? 2U : 1U) << allowed;
    EXPECT_EQ(ports->back()->name(), "rdma1 port 1") << allowed;
  }
  settings.devices = "mlx5_0";
  EXPECT_THAT(whyNoPort(settings), HasSubstr("rdma0 is ruled out by RONDO_IB_DEVICES"));
  settings.devices = "rdma0:2";
  EXPECT_EQ(whyNoPort(settings),
            "no port can be used: rdma0 port 1 is ruled out by RONDO_IB_DEVICES; rdma1 is ruled "
            "out by RONDO_IB_DEVICES");
}

TEST(VerbsPorts, AdaptersThatAreRuledOutAreNotOpened) {
  verbs::Settings settings;
  settings.devices = "^rdma0";
  rondoVerbsFailCall("ibv_open_device", 1, EIO);
  EXPECT_EQ(whyNoPort(settings),
            "no port can be used: rdma0 is ruled out by RONDO_IB_DEVICES; cannot open rdma1: "
            "Input/output error");
  rondoVerbsFailCall(nullptr, 0, 0);
}

/// Field test C05: the user's choice counts, and is checked.
TEST(VerbsPorts, AnIndexOfTheTableCanBeChosen) {
  verbs::Settings settings;
  settings.gidIndex = 1;
  const auto ports = verbs::findPorts(**verbs::systemLibrary(), settings);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(ports->front()->gids().front().index, 1U);
  settings.gidIndex = 7;
  EXPECT_EQ(whyNoPort(settings),
            "RONDO_IB_GID_INDEX is 7, but the GIDs of rdma0 port 1 are: 0 fe80::1 (RoCE v1), 1 "
            "fe80::1, 2 10.0.1.1 (RoCE v1), 3 10.0.1.1");
}

TEST(VerbsPorts, ConnectionsTakeTurns) {
  const int before[] = {rondoVerbsRequests("rdma0"), rondoVerbsRequests("rdma1")};
  TransportTeam team(impatientKind(), 3, kSlots);
  runExchanges(team, {.channels = 2, .fillings = 20});
  EXPECT_GT(rondoVerbsRequests("rdma0"), before[0] + 100);
  EXPECT_GT(rondoVerbsRequests("rdma1"), before[1] + 100);
}

}  // namespace
}  // namespace rondo::testing
