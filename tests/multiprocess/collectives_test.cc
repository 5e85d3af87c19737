// The collectives between processes that share memory: right results, and nothing left behind.

#include <cstdio>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

class ProcessCollectives : public ::testing::TestWithParam<int> {};

TEST_P(ProcessCollectives, GiveRightResults) {
  const int ranks = GetParam();
  ForkedRanks processes(ranks, [ranks](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(ranks, rank, id);
    int wrong = 0;
    for (const std::size_t count : {1, 1000, 40007})
      wrong += callEverything(comm, ranks, rank, count);
    wrong += failed(comm, rondoCommDestroy(comm));
    return wrong > 0 ? 1 : 0;
  });
  processes.expectSuccess();
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessCollectives, ::testing::Values(1, 2, 3, 5, 8));

TEST(ProcessInit, SixtyFourRanksMeet) {
  constexpr int kRanks = 64;
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    const int wrong = failed(comm, rondoBarrier(comm, nullptr));
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

TEST(ProcessInit, PutsNothingIntoDevShm) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    int wrong = failed(comm, rondoBarrier(comm, nullptr));
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      wrong += file.path().filename().string().find("rondo") != std::string::npos ? 1 : 0;
    }
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
