// Ranks that are processes and the paths between their adapters: doubtful ones are said to be, and
// of one that leads nowhere all ranks learn which, and why.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
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

/// Two channels over two adapters, of which the second loses what it sends; adapters give up after
/// 134 ms.
rondoComm_t joinByASilentPath(int rank, const rondoUniqueId_t& id) {
  setEnvironment({{"RONDO_TRANSPORT", "verbs"},
                  {"RONDO_CHANNELS", "2"},
                  {"RONDO_IB_TIMEOUT", "12"},
                  {"RONDOTEST_VERBS_SILENT", "rdma1"}});
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

TEST(Paths, NetworksThatDifferAreNotedOnceByEachRank) {
  const auto notes = [](const char* first, const char* second) {
    const std::vector<std::string> lines = saidAt("info", [=](int rank) {
      return Variables{{"RONDO_IB_DEVICES", rank == 0 ? first : second}};
    });
    return std::ranges::count_if(lines, [](const std::string& line) {
      return line.find("a router must join the two") != std::string::npos;
    });
  };
  EXPECT_EQ(notes("rdma0", "rdma1"), 2);
  EXPECT_EQ(notes("rdma0", "rdma0"), 0);
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
