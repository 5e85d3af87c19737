// RONDO_SLOT_MEMORY_BYTES between processes: all communicators of a rank share it, it comes back
// when they are destroyed, and its end is an error that says so.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

/// A communicator of two ranks has 2 connections. Each rank has room for three of 260 KiB and nine
/// of 132 KiB, so that six to twelve communicators work: over shm, only one of the ranks pays for
/// each.
constexpr std::size_t kSlotMemory = std::size_t{2} << 20;
constexpr std::size_t kMostCommunicators = 12;
constexpr std::size_t kElements = 100000;

class SlotMemory : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    // NOLINTBEGIN(concurrency-mt-unsafe)
    ::setenv("RONDO_TRANSPORT", GetParam(), 1);
    ::setenv("RONDO_SLOT_MEMORY_BYTES", std::to_string(kSlotMemory).c_str(), 1);
    // NOLINTEND(concurrency-mt-unsafe)
  }

  void TearDown() override {
    // NOLINTBEGIN(concurrency-mt-unsafe)
    ::unsetenv("RONDO_TRANSPORT");
    ::unsetenv("RONDO_SLOT_MEMORY_BYTES");
    // NOLINTEND(concurrency-mt-unsafe)
  }
};

/// Returns when all ranks have the new one: a failure in it may end no split that goes on.
rondoComm_t splitOrExit(rondoComm_t comm) {
  rondoComm_t part = nullptr;
  if (failed(comm, rondoCommSplit(comm, 0, 0, &part, nullptr)) != 0) ::_exit(100);
  if (failed(comm, rondoBarrier(comm, nullptr)) != 0) ::_exit(101);
  return part;
}

/// Makes communicators until one finds no memory, and destroys them all but `comm`.
int useUp(rondoComm_t comm) {
  std::vector<rondoComm_t> parts;
  std::vector<float> data(kElements);
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess && parts.size() <= kMostCommunicators) {
    parts.push_back(splitOrExit(comm));
    result = rondoAllReduce(data.data(), data.data(), kElements, rondoFloat32, rondoSum,
                            parts.back(), nullptr);
  }
  int wrong =
      expectFailure(parts.back(), result, rondoOutOfMemory, {"RONDO_SLOT_MEMORY_BYTES", "bytes"});
  wrong += parts.size() > 2 ? 0 : 1;
  for (const rondoComm_t part : parts)
    wrong += failed(part, rondoCommDestroy(part));
  return wrong;
}

TEST_P(SlotMemory, SeveralCommunicatorsShareItAndGiveItBack) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    rondoComm_t comm = joinOrExit(2, rank, id);
    int wrong = sumExactly(comm, 2, rank, kElements);
    wrong += useUp(comm);
    wrong += useUp(comm);
    return wrong + sumExactly(comm, 2, rank, kElements) + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  EXPECT_FALSE(HasFailure()) << ::testing::PrintToString(logs.linesWith(""));
}

TEST_P(SlotMemory, TwoHundredCommunicatorsOneAfterTheOther) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    int wrong = 0;
    for (int cycle = 0; cycle < 200 && wrong == 0; ++cycle) {
      rondoComm_t part = splitOrExit(comm);
      wrong += sumExactly(part, 2, rank, kElements);
      wrong += failed(part, rondoCommDestroy(part));
    }
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

/// Some connections get all their slots, some two; over tcp the two ends of one may differ.
TEST_P(SlotMemory, ResultsAreTheSameWhereConnectionsMakeDoWithTwoSlots) {
  const RankLogs logs;
  ForkedRanks processes(4, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): half of it is enough for 2 to 5 connections
    ::setenv("RONDO_SLOT_MEMORY_BYTES", std::to_string(kSlotMemory + rank * 500000).c_str(), 1);
    ::setenv("RONDO_CHUNK_BYTES", "65536", 1);  // NOLINT(concurrency-mt-unsafe)
    rondoComm_t comm = joinOrExit(4, rank, id);
    int wrong = 0;
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300000}})
      wrong += callEverything(comm, 4, rank, count) + sumExactly(comm, 4, rank, count);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  EXPECT_FALSE(HasFailure()) << ::testing::PrintToString(logs.linesWith(""));
}

INSTANTIATE_TEST_SUITE_P(Transports,
                         SlotMemory,
                         ::testing::Values("shm", "tcp", "shm,tcp"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::erase(name, ',');
                           return name;
                         });

}  // namespace
}  // namespace rondo::testing
