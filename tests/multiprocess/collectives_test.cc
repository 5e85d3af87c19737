// The collectives between processes that share memory: right results, and nothing left behind.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

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

constexpr std::size_t kElements = 100000;

/// Memory files that this process has mapped: the arena, blocks of its own and of other ranks.
int mappedFiles() {
  std::ifstream maps("/proc/self/maps");
  int files = 0;
  for (std::string line; std::getline(maps, line);)
    files += line.find("memfd:rondo") != std::string::npos ? 1 : 0;
  return files;
}

float* allocated(std::size_t elements) {
  void* memory = nullptr;
  if (rondoMemAlloc(&memory, elements * sizeof(float), -1) != rondoSuccess) ::_exit(98);
  return static_cast<float*>(memory);
}

/// Sums what each rank has put into a buffer, which it spoils as soon as the call returns.
int sumRound(
    rondoComm_t comm, int ranks, int rank, int round, std::span<float> input, float* output) {
  for (std::size_t at = 0; at < input.size(); ++at)
    input[at] = static_cast<float>((at + static_cast<std::size_t>(7 * rank + round)) % 100);
  int wrong = failed(comm, rondoAllReduce(input.data(), output, input.size(), rondoFloat32,
                                          rondoSum, comm, nullptr));
  if (output != input.data()) std::ranges::fill(input, -1.0F);
  for (std::size_t at = 0; at < input.size(); ++at) {
    float sum = 0;
    for (int other = 0; other < ranks; ++other)
      sum += static_cast<float>((at + static_cast<std::size_t>(7 * other + round)) % 100);
    wrong += output[at] == sum ? 0 : 1;
  }
  if (wrong > 0) std::fprintf(stderr, "rank %d round %d: %d wrong\n", rank, round, wrong);
  return wrong;
}

/// Ranks mix plain, allocated and registered buffers, whole and in part, in place and not; pieces
/// are read where they are from the first on.
TEST(MappedMemory, GivesRightResultsWhateverBuffersRanksHave) {
  for (const int ranks : {2, 3, 4}) {
    ForkedRanks processes(ranks, [ranks](int rank, const rondoUniqueId_t& id) {
      ::setenv("RONDO_ZERO_COPY_BYTES", "64", 1);  // NOLINT(concurrency-mt-unsafe)
      rondoComm_t comm = joinOrExit(ranks, rank, id);
      std::vector<float> plain(2 * kElements);
      float* const block = allocated(2 * kElements);
      rondoRegistration_t registration = nullptr;
      int wrong = failed(comm, rondoCommRegister(comm, block, 4 * kElements, &registration));
      for (int round = 0; round < 24; ++round) {
        const bool fromBlock = (rank + round) % 3 != 0;
        const std::span<float> input(
            (fromBlock ? block : plain.data()) + static_cast<std::size_t>(round % 5), kElements);
        float* const apart = ((rank + round) % 2 == 0 ? block : plain.data()) + kElements + 16;
        wrong += sumRound(comm, ranks, rank, round, input, round % 4 == 0 ? input.data() : apart);
      }
      wrong += failed(comm, rondoCommDeregister(comm, registration));
      wrong += failed(comm, rondoMemFree(block));
      wrong += failed(comm, rondoCommDestroy(comm));
      return wrong > 0 ? 1 : 0;
    });
    processes.expectSuccess();
  }
}

/// Blocks are mapped once for each pair of ranks, and given up for others when they were freed.
TEST(MappedMemory, IsMappedByTheRanksThatReadIt) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(2, rank, id);
    std::vector<float> sums(kElements);  // in place some algorithms copy
    int wrong = 0;
    const char* transport = "";
    wrong += failed(comm, rondoCommGetTransport(comm, 1 - rank, &transport));
    if (std::string_view(transport) != "shm") return wrong;  // where nothing is mapped
    for (int block = 0; block < 40; ++block) {
      float* const memory = allocated(kElements);
      for (int round = 0; round < 8; ++round)
        wrong += sumRound(comm, 2, rank, round, {memory, kElements}, sums.data());
      // The arena, the own block, and one of the other rank's at least; of those that it has freed
      // no more than there are drawers.
      const int files = mappedFiles();
      const bool mapped = files >= 3 && files <= 2 + 16;
      if (!mapped) std::fprintf(stderr, "block %d: %d files are mapped\n", block, files);
      wrong += mapped ? 0 : 1;
      wrong += failed(comm, rondoBarrier(comm, nullptr));
      wrong += failed(comm, rondoMemFree(memory));
    }
    // More at a time than can be mapped: what is not is copied.
    std::vector<float*> many;
    for (int block = 0; block < 24; ++block)
      many.push_back(allocated(kElements));
    for (int round = 0; round < 3; ++round)
      for (float* const memory : many)
        wrong += sumRound(comm, 2, rank, round, {memory, kElements}, sums.data());
    for (float* const memory : many)
      wrong += failed(comm, rondoMemFree(memory));
    wrong += failed(comm, rondoCommDestroy(comm));
    return wrong > 0 ? 1 : 0;
  });
  processes.expectSuccess();
}

/// A rank is killed while others read its buffers, and while it may be reading theirs.
TEST(MappedMemory, OfARankThatDiesIsAnErrorOfItsPeers) {
  constexpr int kRanks = 3;
  for (int victim = 0; victim < kRanks; ++victim) {
    ForkedRanks processes(kRanks, [victim](int rank, const rondoUniqueId_t& id) {
      rondoComm_t comm = joinOrExit(kRanks, rank, id);
      float* const memory = allocated(kElements);
      rondoResult_t result = rondoSuccess;
      for (int round = 0; round < 100000 && result == rondoSuccess; ++round) {
        if (rank == victim && round == 200) ::raise(SIGKILL);
        result = rondoAllReduce(memory, memory, kElements, rondoFloat32, rondoSum, comm, nullptr);
      }
      const int wrong = expectFailure(comm, result, rondoPeerLost, {"rank"});
      return wrong + failed(comm, rondoMemFree(memory)) + failed(comm, rondoCommDestroy(comm));
    });
    processes.expectSuccess(std::chrono::seconds{60}, victim);
  }
}

}  // namespace
}  // namespace rondo::testing
