// Ranks that are processes where adapters cannot be used: they use tcp, with one warning if that is
// worth one, and without another transport the error says why.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kRanks = 3;

void setEnvironment(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const auto& [name, value] : variables)
    ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): a forked child has one thread
}

/// Ranks that shall use `transport`, and of which rank 1 has `trouble`.
void runWithTrouble(const RankLogs& logs,
                    const char* transport,
                    const std::vector<std::pair<const char*, const char*>>& trouble) {
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setEnvironment({{"RONDO_TRANSPORT", "verbs,tcp"}});
    if (rank == 1) setEnvironment(trouble);
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    int wrong = callEverything(comm, kRanks, rank, 1000);
    const char* name = nullptr;
    wrong += failed(comm, rondoCommGetTransport(comm, rank == 0 ? 1 : 0, &name));
    if (rank == 1 && std::string(name) != transport) ++wrong;
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

TEST(VerbsFallback, IsNotNeededWhereAllIsWell) {
  const RankLogs logs;
  runWithTrouble(logs, "verbs", {});
  EXPECT_THAT(logs.linesWith(" warn "), IsEmpty());
}

/// Field test C04.
TEST(VerbsFallback, TooLittleLockedMemoryIsOneWarning) {
  const RankLogs logs;
  runWithTrouble(logs, "tcp", {{"RONDOTEST_VERBS_FAIL", "ibv_reg_mr:0:12"}});
  const std::vector<std::string> warnings = logs.linesWith(" warn ");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings.front(), HasSubstr("verbs does not lead to rank 1 and others"));
  EXPECT_THAT(warnings.front(), HasSubstr("does not register"));
}

/// Later, when a connection is made, all others still go by adapters.
TEST(VerbsFallback, TooLittleLockedMemoryForAConnectionIsOneWarningAndADetour) {
  // Before that, two are made at init, one for each port; and two queues for trials of paths.
  for (const char* which : {"ibv_reg_mr:3:12", "ibv_reg_mr:5:12", "ibv_create_cq:6:12"}) {
    const RankLogs logs;
    runWithTrouble(logs, "verbs", {{"RONDOTEST_VERBS_FAIL", which}});
    const std::vector<std::string> warnings = logs.linesWith(" warn ");
    ASSERT_THAT(warnings, SizeIs(1)) << which;
    EXPECT_THAT(warnings.front(), HasSubstr("goes by tcp instead of verbs: rdma"));
    EXPECT_THAT(warnings.front(), HasSubstr("(memlock)"));
  }
}

TEST(VerbsFallback, ALimitOfRegionsLeavesTheRestToTcp) {
  const RankLogs logs;
  runWithTrouble(logs, "verbs", {{"RONDOTEST_VERBS_REGIONS", "2"}});
  const std::vector<std::string> warnings = logs.linesWith(" warn ");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings.front(), HasSubstr("its adapter has 2 regions for all processes"));
}

TEST(VerbsFallback, WithoutTcpAConnectionThatCannotBeMadeEndsAllRanks) {
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    setEnvironment({{"RONDO_TRANSPORT", "verbs"}});
    if (rank == 1) setEnvironment({{"RONDOTEST_VERBS_FAIL", "ibv_reg_mr:3:12"}});
    const rondoComm_t comm = joinOrExit(kRanks, rank, id);
    float one = 1;
    const int wrong = expectFailure(
        comm, rondoAllReduce(&one, &one, 1, rondoFloat32, rondoSum, comm, nullptr),
        rondoSystemError, {"rank 1", "does not register", "(memlock)", "RONDO_TRANSPORT"});
    (void)rondoCommDestroy(comm);
    return wrong;
  });
  processes.expectSuccess();
}

/// Field test C07: no adapter is nothing to warn of.
TEST(VerbsFallback, NoActivePortIsSilent) {
  const RankLogs logs;
  runWithTrouble(logs, "tcp", {{"RONDOTEST_VERBS_DOWN", "rdma0,rdma1"}});
  EXPECT_THAT(logs.linesWith(" warn "), IsEmpty());
}

TEST(VerbsFallback, WithoutAnotherWayTheErrorSaysWhy) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    setEnvironment({{"RONDO_TRANSPORT", "verbs"}, {"RONDOTEST_VERBS_DOWN", "rdma0,rdma1"}});
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, 2, id, rank, nullptr);
    return expectFailure(nullptr, result, rondoNotSupported,
                         {"cannot reach each other", "rdma0 port 1 is DOWN"});
  });
  processes.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
