// Control planes of several ranks in one process: what they tell each other, and what strangers at
// their doors can do.
#include "src/control/control_plane.h"

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/control/dialer.h"
#include "src/log.h"
#include "src/net/socket.h"
#include "tests/unit/secret_keys.h"
#include "tests/unit/stranger_flood.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

/// Long for anything that succeeds.
constexpr milliseconds kPatience{20000};

/// Waits until `done`; false if that takes too long.
bool eventually(const std::function<bool()>& done, milliseconds patience = kPatience) {
  for (const Deadline deadline = Deadline::within(patience); !done();) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds{1});
  }
  return true;
}

/// Writes down what its control plane says. @threads any
class Witness final : public ControlSubject {
 public:
  RankNews newsFor(int asker) override {
    RankNews news;
    news.posted = 100;
    news.released = static_cast<std::uint64_t>(asker);
    return news;
  }

  void learn(int rank, const RankNews& news) override {
    const std::scoped_lock lock(mutex_);
    news_[rank] = news;
  }

  void learnLoss(int rank, const std::string& why) override {
    const std::scoped_lock lock(mutex_);
    losses_[rank] = why;
  }

  void learnFailure(const Status& failure) override {
    const std::scoped_lock lock(mutex_);
    failures_.push_back(failure);
  }

  bool heardOf(int rank) const {
    const std::scoped_lock lock(mutex_);
    return news_.contains(rank);
  }

  RankNews newsOf(int rank) const {
    const std::scoped_lock lock(mutex_);
    return news_.at(rank);
  }

  std::string lossOf(int rank) const {
    const std::scoped_lock lock(mutex_);
    return losses_.contains(rank) ? losses_.at(rank) : std::string();
  }

  std::vector<Status> failures() const {
    const std::scoped_lock lock(mutex_);
    return failures_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<int, RankNews> news_;
  std::map<int, std::string> losses_;
  std::vector<Status> failures_;
};

/// Five ranks; the log of all of them in a file.
class ControlPlaneTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 5;

  ControlPlaneTest() : witnesses_(kRanks) {
    EXPECT_TRUE(configureLog({LogLevel::kWarn, log_}).ok());
    std::vector<std::string> addresses;
    for (int rank = 0; rank < kRanks; ++rank) {
      ControlSettings settings;
      settings.rank = rank;
      settings.ranks = kRanks;
      settings.addresses.interfaces = "lo";
      settings.openingTimeout = std::chrono::milliseconds{500};
      planes_.push_back(*ControlPlane::open(settings, keyOf(1)));
      addresses.push_back(planes_.back()->addressWord());
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(plane(rank).learnPeers(addresses).ok());
      EXPECT_TRUE(plane(rank).start(witness(rank)).ok());
    }
  }

  ~ControlPlaneTest() override {
    planes_.clear();
    EXPECT_TRUE(configureLog({}).ok());
    std::filesystem::remove(log_);
  }

  ControlPlane& plane(int rank) { return *planes_[static_cast<std::size_t>(rank)]; }

  Witness& witness(int rank) { return witnesses_[static_cast<std::size_t>(rank)]; }

  static Deadline soon() { return Deadline::within(kPatience); }

  void join(int first = 0, int last = kRanks - 1) {
    for (int rank = first; rank <= last; ++rank) {
      const Status joined = plane(rank).joinTree(soon());
      ASSERT_TRUE(joined.ok()) << joined.message();
    }
  }

  /// A connection to rank 1, from nobody yet.
  FileDescriptor knock() {
    Result<FileDescriptor> socket = connectOnce(plane(1).addresses().front(), soon());
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    return socket.ok() ? *std::move(socket) : FileDescriptor();
  }

  /// A connection to rank 1 of somebody who knows the secret.
  FileDescriptor visit(const PeerIdentity& identity) {
    Result<FileDescriptor> socket =
        dialRank(1, plane(1).addresses(), keyOf(1), identity, soon(), [] { return Status(); });
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    return socket.ok() ? *std::move(socket) : FileDescriptor();
  }

  /// Whether the other end has closed `socket` before the deadline, whatever it says before.
  static bool isDropped(const FileDescriptor& socket) {
    return eventually([&] {
      std::array<std::byte, 256> bytes;
      return !recvSome(socket.get(), bytes, "it").ok();
    });
  }

  /// Lines of the log that hold `text`.
  int linesWith(const std::string& text) const {
    std::ifstream file(log_);
    int count = 0;
    for (std::string line; std::getline(file, line);)
      count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }

  /// Expects one line about a stranger, and that rank 1 answers as ever.
  void expectOnlyALine(const std::string& text) {
    EXPECT_TRUE(eventually([&] { return linesWith(text) > 0; })) << text;
    EXPECT_EQ(linesWith("warn"), 1);
    ASSERT_TRUE(plane(3).link(1, soon()).ok());
    plane(3).ask(1);
    EXPECT_TRUE(eventually([&] { return witness(3).heardOf(1); }));
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(witness(1).lossOf(rank), "");
      EXPECT_TRUE(witness(rank).failures().empty());
    }
  }

  const std::string log_ =
      ::testing::TempDir() + "rondo_control_test." + std::to_string(::getpid()) + ".log";
  std::vector<Witness> witnesses_;  // must outlive the planes
  std::vector<std::unique_ptr<ControlPlane>> planes_;
};

TEST_F(ControlPlaneTest, AFailureReachesAllThroughTheTree) {
  join();
  plane(3).spread(Status::mismatch("rank 3 called something else"));
  for (const int rank : {0, 1, 2, 4}) {
    ASSERT_TRUE(eventually([&] { return !witness(rank).failures().empty(); })) << rank;
    EXPECT_EQ(witness(rank).failures().front().code(), StatusCode::kMismatch);
    EXPECT_EQ(witness(rank).failures().front().message(), "rank 3 called something else");
  }
  EXPECT_TRUE(witness(3).failures().empty()) << "it knows";
}

TEST_F(ControlPlaneTest, TheFirstFailureCounts) {
  join();
  plane(0).spread(Status::timeout("first"));
  plane(0).spread(Status::timeout("second"));
  ASSERT_TRUE(eventually([&] { return !witness(4).failures().empty(); }));
  EXPECT_EQ(witness(4).failures().front().message(), "first");
  EXPECT_EQ(plane(0).dial(2, PeerRole::kData, soon()).status().message(), "first");
}

TEST_F(ControlPlaneTest, WhoJoinsLateHearsOfTheFailure) {
  join(0, 3);
  plane(0).spread(Status::aborted("over"));
  ASSERT_TRUE(eventually([&] { return !witness(1).failures().empty(); }));
  join(4, 4);
  EXPECT_TRUE(eventually([&] { return !witness(4).failures().empty(); }));
}

TEST_F(ControlPlaneTest, AnswersWhoAsks) {
  join();
  plane(3).ask(4);  // no link: nothing happens
  ASSERT_TRUE(plane(3).link(4, soon()).ok());
  ASSERT_TRUE(plane(3).link(4, soon()).ok()) << "a second time it is there";
  plane(3).ask(4);
  ASSERT_TRUE(eventually([&] { return witness(3).heardOf(4); }));
  EXPECT_EQ(witness(3).newsOf(4).posted, 100U);
  EXPECT_EQ(witness(3).newsOf(4).released, 3U) << "the answer is for the one who asks";
  EXPECT_FALSE(witness(4).heardOf(3));
}

TEST_F(ControlPlaneTest, AGoodbyeIsNoLossAndBringsTheLastNews) {
  join();
  planes_[4].reset();
  ASSERT_TRUE(eventually([&] { return witness(1).heardOf(4); }));
  EXPECT_EQ(witness(1).newsOf(4).released, 1U);
  std::this_thread::sleep_for(milliseconds{50});
  EXPECT_EQ(witness(1).lossOf(4), "");
}

TEST_F(ControlPlaneTest, AnEndWithoutAGoodbyeIsALoss) {
  join(0, 2);
  FileDescriptor link = visit({.role = PeerRole::kControl, .rank = 4, .ranks = kRanks});
  std::this_thread::sleep_for(milliseconds{20});
  EXPECT_EQ(witness(1).lossOf(4), "");
  link.reset();
  ASSERT_TRUE(eventually([&] { return !witness(1).lossOf(4).empty(); }));
  EXPECT_NE(witness(1).lossOf(4).find("its process has ended"), std::string::npos);
  EXPECT_EQ(witness(0).lossOf(4), "") << "it had no link";
}

TEST_F(ControlPlaneTest, ALinkThatSpeaksNonsenseIsLost) {
  join(0, 2);
  const FileDescriptor link = visit({.role = PeerRole::kControl, .rank = 4, .ranks = kRanks});
  const std::vector<std::byte> noise(100, std::byte{0xee});
  ASSERT_TRUE(sendAll(link.get(), noise, soon(), "rank 1").ok());
  EXPECT_TRUE(isDropped(link));
  EXPECT_NE(witness(1).lossOf(4), "");
}

TEST_F(ControlPlaneTest, HandsOutDataConnections) {
  EXPECT_FALSE(plane(1).takeDataSocket(DataWire::kTcp, 3, 7).has_value());
  const OpenData opening{DataWire::kTcp, 7, 4096, 4};
  const Result<FileDescriptor> socket = plane(3).dialData(1, opening, soon());
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  const std::array first{std::byte{42}};  // of the data
  ASSERT_TRUE(sendAll(socket->get(), first, soon(), "rank 1").ok());
  std::optional<ControlPlane::DataSocket> taken;
  ASSERT_TRUE(eventually([&] {
    taken = plane(1).takeDataSocket(DataWire::kTcp, 3, 7);
    return taken.has_value();
  }));
  EXPECT_EQ(taken->opening, opening);
  EXPECT_EQ(taken->from, 3);
  std::array<std::byte, 1> data{};
  ASSERT_TRUE(recvAll(taken->socket.get(), data, soon(), "rank 3").ok());
  EXPECT_EQ(data[0], std::byte{42});
  EXPECT_FALSE(plane(1).takeDataSocket(DataWire::kTcp, 3, 7).has_value()) << "once";
}

TEST_F(ControlPlaneTest, DataConnectionsOfOneKindAreNotThoseOfAnother) {
  const OpenData opening{DataWire::kVerbs, 7, 4096, 4};
  const Result<FileDescriptor> socket = plane(3).dialData(1, opening, soon());
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  std::optional<ControlPlane::DataSocket> taken;
  ASSERT_TRUE(eventually([&] {
    EXPECT_FALSE(plane(1).takeDataSocket(DataWire::kTcp).has_value());
    taken = plane(1).takeDataSocket(DataWire::kVerbs);
    return taken.has_value();
  }));
  EXPECT_EQ(taken->opening, opening);
}

TEST_F(ControlPlaneTest, DropsADataConnectionThatDoesNotSayWhichOneItIs) {
  const FileDescriptor silent = visit({.role = PeerRole::kData, .rank = 4, .ranks = kRanks});
  EXPECT_TRUE(isDropped(silent));
  expectOnlyALine("dropped a data connection of rank 4");
}

TEST_F(ControlPlaneTest, DropsADataConnectionThatSaysSomethingElse) {
  const FileDescriptor other = visit({.role = PeerRole::kData, .rank = 4, .ranks = kRanks});
  std::vector<std::byte> ask;
  appendAsk(ask);
  ASSERT_TRUE(sendAll(other.get(), ask, soon(), "rank 1").ok());
  EXPECT_TRUE(isDropped(other));
  expectOnlyALine("dropped a data connection of rank 4");
}

TEST_F(ControlPlaneTest, DropsVisitorsForOtherServices) {
  const FileDescriptor visitor = visit({.role = PeerRole::kProbe, .rank = 4, .ranks = kRanks});
  EXPECT_TRUE(isDropped(visitor));
  expectOnlyALine("dropped rank 4 of 5");
}

TEST_F(ControlPlaneTest, DropsVisitorsWithARankThatThereIsNot) {
  const FileDescriptor visitor = visit({.role = PeerRole::kControl, .rank = 5, .ranks = kRanks});
  EXPECT_TRUE(isDropped(visitor));
  expectOnlyALine("dropped rank 5 of 5");
}

TEST_F(ControlPlaneTest, DropsVisitorsOfAJobOfAnotherSize) {
  const FileDescriptor visitor = visit({.role = PeerRole::kControl, .rank = 0, .ranks = 4});
  EXPECT_TRUE(isDropped(visitor));
  expectOnlyALine("dropped rank 0 of 4");
}

TEST_F(ControlPlaneTest, DropsAPortScanner) {
  knock().reset();
  expectOnlyALine("dropped a stranger");
}

TEST_F(ControlPlaneTest, DropsAnotherProtocol) {
  const FileDescriptor stranger = knock();
  const std::string_view request = "GET / HTTP/1.1\r\nHost: node1\r\n\r\n";
  ASSERT_TRUE(sendAll(stranger.get(), std::as_bytes(std::span(request)), soon(), "rank 1").ok());
  EXPECT_TRUE(isDropped(stranger));
  expectOnlyALine("dropped a stranger");
}

TEST_F(ControlPlaneTest, DropsWhoTakesTooLong) {
  const FileDescriptor stranger = knock();
  const auto start = Deadline::Clock::now();
  for (int sent = 0; sent < 3; ++sent) {  // a hello's first part has 8
    (void)::send(stranger.get(), "r", 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(milliseconds{1});
  }
  EXPECT_TRUE(isDropped(stranger));
  EXPECT_GE(Deadline::Clock::now() - start, kHandshakeTimeout - milliseconds{100});
  expectOnlyALine("it did not get on in time");
}

TEST_F(ControlPlaneTest, AFloodOfStrangersKeepsNoRankOut) {
  const auto start = Deadline::Clock::now();
  {
    const StrangerFlood flood(plane(1).addresses().front());
    EXPECT_TRUE(eventually([&] { return flood.dropped() > 100; }));
    join();
    for (int times = 0; times < 20; ++times)
      EXPECT_TRUE(plane(4).dial(1, PeerRole::kData, soon()).ok());
    plane(3).ask(1);
    EXPECT_TRUE(eventually([&] { return witness(3).heardOf(1); }));
    EXPECT_LE(linesWith("dropped a stranger"), flood.mostLines());
  }
  EXPECT_LT(Deadline::Clock::now() - start, kPatience / 2);
  EXPECT_GT(linesWith("it has to make room for newer connections"), 0);
}

TEST_F(ControlPlaneTest, DropsWhoHasAnotherSecret) {
  const FileDescriptor stranger = knock();
  const PeerIdentity identity{.role = PeerRole::kControl, .rank = 4, .ranks = kRanks};
  EXPECT_EQ(authenticateAsClient(stranger.get(), keyOf(2), identity, soon()).code(),
            StatusCode::kMismatch);
  expectOnlyALine("dropped a stranger");
}

TEST_F(ControlPlaneTest, DropsAnotherVersionWithAnAnswer) {
  const FileDescriptor stranger = knock();
  ClientHello hello{};
  ClientHandshake client(*MessageAuthenticator::shared(), keyOf(1),
                         {.role = PeerRole::kControl, .rank = 4, .ranks = kRanks}, Nonce{});
  const std::vector<std::byte> bytes = client.takeOutput();
  ASSERT_EQ(bytes.size(), sizeof hello);
  std::memcpy(&hello, bytes.data(), sizeof hello);
  ++hello.prefix.version;
  ASSERT_TRUE(sendAll(stranger.get(), std::as_bytes(std::span(&hello, 1)), soon(), "rank 1").ok());
  HelloPrefix answer{};
  ASSERT_TRUE(
      recvAll(stranger.get(), std::as_writable_bytes(std::span(&answer, 1)), soon(), "rank 1")
          .ok());
  EXPECT_EQ(answer.version, kProtocolVersion);
  EXPECT_EQ(answer.detail, static_cast<std::uint16_t>(HelloStatus::kOtherVersion));
  EXPECT_TRUE(isDropped(stranger));
  expectOnlyALine("dropped a stranger");
}

}  // namespace
}  // namespace rondo
