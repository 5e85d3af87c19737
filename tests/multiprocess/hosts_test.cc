// Field tests N11 and N02: ranks of one host that look like ranks of two, ranks of two that look
// like one, and both kinds in one communicator. Hosts are made of RONDO_HOST_ID, or of network
// namespaces.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "src/format.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPromptly{20000};

void setVariable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

int sumAll(rondoComm_t comm, int ranks, int rank) {
  int wrong = 0;
  for (const std::size_t count : {1, 1000, 100003})
    wrong += callEverything(comm, ranks, rank, count);
  return wrong + failed(comm, rondoCommDestroy(comm));
}

void expectOnEveryRank(const RankLogs& logs, int ranks, const std::string& part) {
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_NE(logs.textOf(rank).find(part), std::string::npos) << logs.textOf(rank);
}

TEST(OneHostThatLooksLikeTwo, UsesTcp) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setVariable("RONDO_LOG_LEVEL", "info");
    setVariable("RONDO_HOST_ID", fmt::format("host{}", rank));
    return sumAll(joinOrExit(2, rank, id), 2, rank);
  });
  processes.expectSuccess(kPromptly);
  expectOnEveryRank(logs, 2, "over tcp");
  EXPECT_TRUE(logs.linesWith("warn").empty()) << logs.linesWith("warn").front();
}

// ---- two hosts of two ranks each
// ---------------------------------------------------------------

constexpr int kRanks = 4;
constexpr int kLast = kRanks - 1;

/// Runs `body` as ranks 0 and 1 of one host and 2 and 3 of another.
template <class Body>
RankBody onTwoHosts(const Body& body) {
  return [&body](int rank, const rondoUniqueId_t& id) {
    setVariable("RONDO_HOST_ID", rank < 2 ? "first" : "second");
    return body(joinOrExit(kRanks, rank, id, 3000), rank);
  };
}

/// @param summed passed after the first sum
rondoResult_t sumUntilFailure(rondoComm_t comm, const Milestone& summed) {
  rondoResult_t result = rondoSuccess;
  for (bool first = true; result == rondoSuccess; first = false) {
    float one = 1;
    result = rondoAllReduce(&one, &one, 1, rondoFloat32, rondoSum, comm, nullptr);
    if (first) summed.pass();
  }
  return result;
}

/// All sum, and go on for a while.
void awaitTraffic(const Milestone& summed) {
  EXPECT_TRUE(summed.await(kRanks));
  std::this_thread::sleep_for(milliseconds{100});
}

/// @return to how many ranks another transport leads than should
int wrongTransports(rondoComm_t comm, int rank) {
  int wrong = 0;
  for (int peer = 0; peer < kRanks; ++peer) {
    const std::string_view right = peer == rank ? "self" : peer / 2 == rank / 2 ? "shm" : "tcp";
    const char* name = "";
    wrong += failed(comm, rondoCommGetTransport(comm, peer, &name)) + (right == name ? 0 : 1);
  }
  return wrong;
}

TEST(TwoHosts, ShareMemoryInsideAndUseTcpBetween) {
  const RankLogs logs;
  const auto body = [](rondoComm_t comm, int rank) {
    const int wrong = wrongTransports(comm, rank);
    return wrong + sumAll(comm, kRanks, rank);
  };
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setVariable("RONDO_LOG_LEVEL", "info");
    return onTwoHosts(body)(rank, id);
  });
  processes.expectSuccess();
  EXPECT_EQ(logs.linesWith("over shm, ranks 2, 3 over tcp").size(), 2U) << logs.textOf(0);
  EXPECT_EQ(logs.linesWith("over shm, ranks 0, 1 over tcp").size(), 2U) << logs.textOf(3);
  EXPECT_TRUE(logs.linesWith("warn").empty()) << logs.linesWith("warn").front();
}

TEST(TwoHosts, KilledRankIsNamedOnBoth) {
  const Milestone summed;
  const auto body = [&](rondoComm_t comm, int) {
    return expectFailure(comm, sumUntilFailure(comm, summed), rondoPeerLost, {"rank 3"});
  };
  ForkedRanks processes(kRanks, onTwoHosts(body));
  awaitTraffic(summed);
  processes.signal(kLast, SIGKILL);
  processes.expectSuccess(kPromptly, kLast);
}

TEST(TwoHosts, StoppedRankTimesOutByNameOnBoth) {
  const Milestone summed;
  const auto body = [&](rondoComm_t comm, int) {
    return expectFailure(comm, sumUntilFailure(comm, summed), rondoTimeout, {"rank 3"});
  };
  ForkedRanks processes(kRanks, onTwoHosts(body));
  awaitTraffic(summed);
  processes.signal(kLast, SIGSTOP);
  processes.expectSuccess(kPromptly, kLast);
}

TEST(TwoHosts, DifferentCallsAreNamedOnBoth) {
  for (const int odd : {0, 2}) {
    const auto body = [odd](rondoComm_t comm, int rank) {
      std::vector<float> data(100, 1.0F);
      const rondoResult_t result = rondoAllReduce(data.data(), data.data(), rank == odd ? 99 : 100,
                                                  rondoFloat32, rondoSum, comm, nullptr);
      return expectFailure(comm, result, rondoMismatch, {"count 99", "count 100"});
    };
    ForkedRanks processes(kRanks, onTwoHosts(body));
    processes.expectSuccess(kPromptly);
  }
}

TEST(TwoHosts, AbortReachesBoth) {
  const Milestone summed;
  const auto body = [&](rondoComm_t comm, int rank) {
    if (failed(comm, rondoBarrier(comm, nullptr)) != 0) return 2;
    if (rank != 1) {
      return expectFailure(comm, sumUntilFailure(comm, summed), rondoAborted, {"rank 1"});
    }
    std::this_thread::sleep_for(milliseconds{100});
    return rondoCommAbort(comm) == rondoSuccess ? 0 : 3;
  };
  ForkedRanks processes(kRanks, onTwoHosts(body));
  processes.expectSuccess(kPromptly);
}

// ---- two levels: what each stage does when something is wrong
// ------------------------------------------

/// Runs `body` with all-reduce in two levels, as ranks 0 to `inFirst` - 1 of one host and the
/// others of another.
template <class Body>
RankBody inTwoLevels(int inFirst, const Body& body) {
  return [inFirst, &body](int rank, const rondoUniqueId_t& id) {
    setVariable("RONDO_ALGORITHM", "all_reduce:two_level");
    setVariable("RONDO_HOST_ID", rank < inFirst ? "first" : "second");
    return body(joinOrExit(kRanks, rank, id, 2000), rank);
  };
}

/// Elements of several pieces: stages are at work at the same time.
constexpr std::size_t kSeveralPieces = std::size_t{1} << 20;

rondoResult_t sum(rondoComm_t comm, std::vector<float>& data) {
  return rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32, rondoSum, comm,
                        nullptr);
}

TEST(TwoLevels, GiveRightResultsOnEvenAndUnevenHosts) {
  for (const int inFirst : {1, 2, 3}) {
    const auto body = [](rondoComm_t comm, int rank) { return sumAll(comm, kRanks, rank); };
    ForkedRanks processes(kRanks, inTwoLevels(inFirst, body));
    processes.expectSuccess();
  }
}

/// Rank 1 is waited for inside its host first, rank 3 of a host of its own between hosts, and by
/// ranks that own no part by way of rank 0 in the last stage.
TEST(TwoLevels, AnAbsentRankIsNamedWhicheverStageWaitsForIt) {
  using Case = std::pair<int, int>;
  for (const Case& one : {Case{2, 1}, Case{2, 2}, Case{3, 3}, Case{3, 2}}) {
    const int absent = one.second;
    const std::string name = fmt::format("rank {}, which has not called yet", absent);
    const auto body = [absent, &name](rondoComm_t comm, int rank) {
      std::vector<float> data(kSeveralPieces, 1.0F);
      if (rank != absent) return expectFailure(comm, sum(comm, data), rondoTimeout, {name});
      rondoResult_t state = rondoSuccess;
      while (state == rondoSuccess) {  // the others end this
        if (rondoCommGetAsyncError(comm, &state) != rondoSuccess) return 3;
        std::this_thread::sleep_for(milliseconds{5});
      }
      return 0;
    };
    ForkedRanks processes(kRanks, inTwoLevels(one.first, body));
    processes.expectSuccess(kPromptly);
  }
}

TEST(TwoLevels, ADifferentCallIsNamedWhicheverStageMeetsIt) {
  using Case = std::pair<int, int>;
  for (const Case& one : {Case{2, 1}, Case{2, 2}, Case{3, 3}, Case{1, 0}}) {
    const int odd = one.second;
    const auto body = [odd](rondoComm_t comm, int rank) {
      std::vector<float> data(rank == odd ? 99 : 100, 1.0F);
      return expectFailure(comm, sum(comm, data), rondoMismatch, {"count 99", "count 100"});
    };
    ForkedRanks processes(kRanks, inTwoLevels(one.first, body));
    processes.expectSuccess(kPromptly);
  }
}

TEST(TwoLevels, ARankKilledAmongPiecesIsNamedOnBothHosts) {
  using Case = std::pair<int, int>;
  for (const Case& one : {Case{2, 1}, Case{3, 3}}) {
    const int victim = one.second;
    const std::string name = fmt::format("rank {}", victim);
    const auto body = [&name](rondoComm_t comm, int) {
      std::vector<float> data(kSeveralPieces, 1.0F);
      rondoResult_t result = rondoSuccess;
      while (result == rondoSuccess)
        result = sum(comm, data);
      return expectFailure(comm, result, rondoPeerLost, {name});
    };
    ForkedRanks processes(kRanks, inTwoLevels(one.first, body));
    std::this_thread::sleep_for(milliseconds{1500});
    processes.signal(victim, SIGKILL);
    processes.expectSuccess(kPromptly, victim);
  }
}

TEST(TwoLevels, AnAbortEndsAllStages) {
  const auto body = [](rondoComm_t comm, int rank) {
    std::vector<float> data(kSeveralPieces, 1.0F);
    rondoResult_t result = sum(comm, data);
    if (rank == 3) return result == rondoSuccess && rondoCommAbort(comm) == rondoSuccess ? 0 : 3;
    // Some may not have completed the first one yet.
    if (result == rondoSuccess) result = sum(comm, data);
    return expectFailure(comm, result, rondoAborted, {"rank 3"});
  };
  ForkedRanks processes(kRanks, inTwoLevels(2, body));
  processes.expectSuccess(kPromptly);
}

// ---- two hosts made of network namespaces
// ------------------------------------------------------

constexpr const char* kHere = "10.98.0.1";

/// A network of this process's own and another one, with a cable between them. Here there also is
/// a cable that leads nowhere, and it is the first in the list.
class TwoNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0) {
      GTEST_SKIP() << "needs the right to make network namespaces: " << std::strerror(errno);
    }
    holder_ = ::fork();
    if (holder_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::unshare(CLONE_NEWNET) == 0) ::pause();
      ::_exit(1);
    }
    const std::string there = fmt::format("nsenter -t {} -n ", holder_);
    const bool made =
        becomesTrue([&] { return networkOf(holder_) != networkOf(::getpid()); }) &&
        run("ip link set lo up") && run("ip link add aaa0 type veth peer name aaa1") &&
        run("ip addr add 10.99.0.1/24 dev aaa0") && run("ip link set aaa0 up") &&
        run("ip link set aaa1 up") &&
        run(fmt::format("ip link add cable type veth peer name cable netns {}", holder_)) &&
        run(fmt::format("ip addr add {}/24 dev cable", kHere)) && run("ip link set cable up") &&
        run(there + "ip link set lo up") && run(there + "ip addr add 10.98.0.2/24 dev cable") &&
        run(there + "ip link set cable up") &&
        // The kernel tells later that the other end is there.
        becomesTrue([&] {
          return run("ip link show cable | grep -q LOWER_UP") &&
                 run(there + "ip link show cable | grep -q LOWER_UP");
        });
    if (!made) GTEST_SKIP() << "needs iproute2 and the right to make veth pairs";
  }

  void TearDown() override {
    if (holder_ <= 0) return;
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
  }

  static std::string networkOf(pid_t process) {
    std::error_code error;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/net", process), error);
  }

  static bool becomesTrue(const std::function<bool()>& condition) {
    for (int look = 0; look < 500; ++look) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds{20});
    }
    return false;
  }

  static bool run(const std::string& command) {
    return std::system((command + " 2>/dev/null").c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
  }

  /// Puts this process into the other network.
  void moveThere() const {
    const int other = ::open(fmt::format("/proc/{}/ns/net", holder_).c_str(), O_RDONLY | O_CLOEXEC);
    if (::setns(other, CLONE_NEWNET) != 0) ::_exit(98);
    ::close(other);
  }

  /// Two ranks, of which the second is in the other network, call everything.
  /// @param hostId of both; empty: what they find out
  void sumBetween(const RankLogs& logs, const std::string& hostId) const {
    ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
      logs.capture(rank);
      setVariable("RONDO_LOG_LEVEL", "info");
      if (!hostId.empty()) setVariable("RONDO_HOST_ID", hostId);
      if (rank == 1) moveThere();
      return sumAll(joinOrExit(2, rank, id), 2, rank);
    });
    processes.expectSuccess();
    expectOnEveryRank(logs, 2, "over tcp");
    if (HasFailure()) ADD_FAILURE() << logs.textOf(0) << logs.textOf(1);
  }

 private:
  pid_t holder_ = -1;
};

TEST_F(TwoNetworks, N11TheSameHostIdMakesTcpAndOneWarning) {
  const RankLogs logs;
  sumBetween(logs, "same");
  const std::vector<std::string> warnings = logs.linesWith("warn");
  ASSERT_EQ(warnings.size(), 1U) << ::testing::PrintToString(warnings);
  EXPECT_NE(warnings.front().find("RONDO_HOST_ID"), std::string::npos) << warnings.front();
}

TEST_F(TwoNetworks, N02AnInterfaceThatLeadsNowhereIsNoObstacle) {
  const RankLogs logs;
  const auto begin = std::chrono::steady_clock::now();
  sumBetween(logs, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{10});
  EXPECT_TRUE(logs.linesWith("warn").empty()) << logs.linesWith("warn").front();
}

}  // namespace
}  // namespace rondo::testing
