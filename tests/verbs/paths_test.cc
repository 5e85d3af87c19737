// Ranks that are processes and the paths between their adapters: doubtful ones are said to be, and
// of one that leads nowhere all ranks learn which, and why.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kRanks = 3;

using Variables = std::vector<std::pair<const char*, const char*>>;

void setEnvironment(const Variables& variables) {
  for (const auto& [name, value] : variables)
    ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): a forked child has one thread
}

/// Two channels over two adapters, of which the second loses what it sends after a rank's first
/// message, by which the path is tried; adapters give up after 134 ms.
rondoComm_t joinByASilentPath(int rank, const rondoUniqueId_t& id) {
  setEnvironment({{"RONDO_TRANSPORT", "verbs"},
                  {"RONDO_CHANNELS", "2"},
                  {"RONDO_IB_TIMEOUT", "12"},
                  {"RONDOTEST_VERBS_SILENT", "rdma1:1"}});
  return joinOrExit(kRanks, rank, id);
}

/// The error of `call` on every rank.
void expectErrorsOf(rondoResult_t (*call)(rondoComm_t comm, float* data, std::size_t count)) {
  ForkedRanks processes(kRanks, [call](int rank, const rondoUniqueId_t& id) {
    const rondoComm_t comm = joinByASilentPath(rank, id);
    std::vector<float> data(1 << 18);
    const int wrong = expectFailure(comm, call(comm, data.data(), data.size()), rondoSystemError,
                                    {"rdma1 port 1 to rank ", "transport retry counter exceeded",
                                     "the peer's adapter does not answer", "RONDO_TRANSPORT"});
    (void)rondoCommDestroy(comm);
    return wrong;
  });
  processes.expectSuccess();
}

TEST(SilentPath, EndsAnAllReduce) {
  expectErrorsOf([](rondoComm_t comm, float* data, std::size_t count) {
    return rondoAllReduce(data, data, count, rondoFloat32, rondoSum, comm, nullptr);
  });
}

/// Its root only sends.
TEST(SilentPath, EndsABroadcast) {
  expectErrorsOf([](rondoComm_t comm, float* data, std::size_t count) {
    return rondoBroadcast(data, data, count, rondoFloat32, 0, comm, nullptr);
  });
}

/// What two ranks say at `level` of the paths they use, which work.
std::vector<std::string> saidAt(const std::string& level,
                                const std::function<Variables(int rank)>& environment) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setEnvironment({{"RONDO_TRANSPORT", "verbs"}, {"RONDO_CHANNELS", "2"}});
    setEnvironment({{"RONDO_LOG_LEVEL", "info"}});
    setEnvironment(environment(rank));
    rondoComm_t comm = joinOrExit(2, rank, id);
    const int wrong = callEverything(comm, 2, rank, 100000);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  return logs.linesWith(" " + level + " ");
}

/// Field test C05.
TEST(Paths, LinkLocalAddressesAreWarnedOfOnceByEachRank) {
  const auto warnings = [](Variables variables) {
    return saidAt("warn", [=](int /*rank*/) { return variables; });
  };
  EXPECT_THAT(warnings({{"RONDOTEST_VERBS_DEVICES", "rdma0=cable,rdma1=cable"}}),
              AllOf(SizeIs(2), Each(HasSubstr("port 1 GID fe80::"))));
  EXPECT_THAT(warnings({{"RONDOTEST_VERBS_DEVICES", "rdma0=ib"}}), IsEmpty());
  EXPECT_THAT(warnings({{"RONDO_IB_GID_INDEX", "1"}}), IsEmpty()) << "it was asked for";
  EXPECT_THAT(warnings({}), IsEmpty());
}

// Paths are tried before transports are chosen.

/// Four ranks of which two each have an adapter in common. Each expects `far` to lead to those with
/// the other.
std::vector<std::string> warningsOfTwoNetworks(const char* far, const Variables& variables) {
  const RankLogs logs;
  ForkedRanks processes(4, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setEnvironment(
        {{"RONDO_TRANSPORT", "verbs,tcp"}, {"RONDO_IB_DEVICES", rank < 2 ? "rdma0" : "rdma1"}});
    setEnvironment(variables);
    const rondoComm_t comm = joinOrExit(4, rank, id);
    int wrong = callEverything(comm, 4, rank, 1000);
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank) continue;
      const char* name = nullptr;
      wrong += failed(comm, rondoCommGetTransport(comm, peer, &name));
      const std::string wanted = (peer < 2) == (rank < 2) ? "verbs" : far;
      if (name != wanted) ++wrong;
    }
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  return logs.linesWith(" warn ");
}

TEST(PathTrials, NetworksThatNoRouterJoinsAreLeftToTcpWithOneWarning) {
  const std::vector<std::string> warnings =
      warningsOfTwoNetworks("tcp", {{"RONDOTEST_VERBS_APART", "1"}});
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings.front(),
              AllOf(HasSubstr("verbs passes over paths that lead nowhere"),
                    HasSubstr("rdma0 port 1 (GID 10.0.1.1) to rank 2 (GID 10.1.1.1)"),
                    HasSubstr("different networks, which a router has to join"),
                    HasSubstr("RONDO_IB_DEVICES")));
}

TEST(PathTrials, NetworksThatARouterJoinsAreUsed) {
  EXPECT_THAT(warningsOfTwoNetworks("verbs", {}), IsEmpty());
}

/// What shared memory serves needs no adapter, and must not wait for one that does not answer.
TEST(PathTrials, RanksThatShareMemoryTryNothing) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setEnvironment(
        {{"RONDO_TRANSPORT", "shm,verbs,tcp"}, {"RONDOTEST_VERBS_SILENT", "rdma0,rdma1"}});
    const rondoComm_t comm = joinOrExit(2, rank, id);
    const int wrong = callEverything(comm, 2, rank, 1000);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  EXPECT_THAT(logs.linesWith(" warn "), IsEmpty());
}

/// What is wrong with one of two paths does not keep the other from being used.
TEST(PathTrials, APathOfSeveralIsPassedOver) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setEnvironment({{"RONDO_TRANSPORT", "verbs"},
                    {"RONDO_CHANNELS", "4"},
                    {"RONDO_LOG_LEVEL", "debug"},
                    {"RONDOTEST_VERBS_SILENT", "rdma1"}});
    const rondoComm_t comm = joinOrExit(2, rank, id);
    const int wrong = callEverything(comm, 2, rank, 100000);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  EXPECT_THAT(logs.linesWith(" warn "),
              AllOf(SizeIs(1), Each(HasSubstr("rdma1 port 1 (GID 10.1.1.1) to rank 1"))));
  EXPECT_THAT(logs.linesWith("channel 3 by rdma0"), Not(IsEmpty()));
  EXPECT_THAT(logs.linesWith(" by rdma1 "), IsEmpty());
}

TEST(PathTrials, WithoutAnotherWayTheErrorSaysWhyOnAllRanks) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    setEnvironment({{"RONDO_TRANSPORT", "verbs"},
                    {"RONDOTEST_VERBS_APART", "1"},
                    {"RONDO_IB_DEVICES", rank == 0 ? "rdma0" : "rdma1"}});
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, 2, id, rank, nullptr);
    return expectFailure(nullptr, result, rondoNotSupported,
                         {"ranks", "cannot reach each other", "transport retry counter exceeded",
                          "different networks"});
  });
  processes.expectSuccess();
}

TEST(PathTrials, ARankThatEndsMeanwhileHangsNobody) {
  ForkedRanks processes(3, [](int rank, const rondoUniqueId_t& id) {
    setEnvironment({{"RONDO_TRANSPORT", "verbs,tcp"},
                    {"RONDOTEST_VERBS_APART", "1"},
                    {"RONDO_IB_DEVICES", rank == 0 ? "rdma0" : "rdma1"}});
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, 3, id, rank, nullptr);
    return expectFailure(nullptr, result, rondoPeerLost, {"rank 1"});
  });
  // Trials of these paths take four seconds.
  std::this_thread::sleep_for(std::chrono::milliseconds{1500});
  processes.signal(1, SIGKILL);
  processes.expectSuccess(std::chrono::seconds{30}, 1);
}

/// "rdma0=roce,rdma1=roce,..."
std::string adapters(int count) {
  std::string list;
  for (int at = 0; at < count; ++at)
    list += (at == 0 ? "rdma" : ",rdma") + std::to_string(at) + "=roce";
  return list;
}

TEST(ManyPorts, AllCarryConnections) {
  const std::string devices = adapters(8);
  const std::vector<std::string> lines = saidAt("debug", [&](int /*rank*/) {
    return Variables{{"RONDOTEST_VERBS_DEVICES", devices.c_str()},
                     {"RONDO_CHANNELS", "8"},
                     {"RONDO_LOG_LEVEL", "debug"}};
  });
  for (int at = 0; at < 8; ++at)
    EXPECT_THAT(lines, Contains(HasSubstr(" by rdma" + std::to_string(at) + " port 1 ")));
}

TEST(ManyPorts, AreBoundedAndTheRestIsNamed) {
  const std::string devices = adapters(18);
  const std::vector<std::string> lines = saidAt("info", [&](int /*rank*/) {
    return Variables{{"RONDOTEST_VERBS_DEVICES", devices.c_str()}};
  });
  EXPECT_THAT(lines, Contains(HasSubstr("rdma15 port 1 (RoCE")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("rdma16 port 1 (RoCE"))));
  EXPECT_THAT(lines, Contains(HasSubstr("rdma17 is not used: a rank has 16 ports at most")));
}

}  // namespace
}  // namespace rondo::testing
