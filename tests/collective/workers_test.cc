// Threads that help a rank: the same bits however many there are, all of them gone with their
// communicator, and every way to fail as without them. That they run all algorithms right, and that
// peers may die and children be forked off meanwhile, other tests show with RONDO_WORKERS set
// (collective.cmake).
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/communicator.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 3;
constexpr std::size_t kLarge = 400003;  // elements of a call that is worth it

using Team = std::vector<std::unique_ptr<Communicator>>;

Team makeTeam(int workers, int channels = 0, milliseconds timeout = std::chrono::minutes{1}) {
  Config config;
  config.workers = workers;
  config.channels = channels;
  config.mailboxBytes = 0;
  config.operationTimeout = timeout;
  config.log.level = LogLevel::kError;
  Result<Team> team = Communicator::createThreads(kRanks, config);
  EXPECT_TRUE(team.ok());
  return team.ok() ? *std::move(team) : Team{};
}

/// Runs `body` as every rank of the team.
void onAllRanks(const Team& team, const std::function<void(Communicator&, int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(
      kRanks, [&](int rank) { body(*team[static_cast<std::size_t>(rank)], rank); },
      [&] { team.front()->abort(); }));
}

/// Threads of this process that the library calls workers.
int workerThreads() {
  int threads = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    threads += name == "rondo-worker" ? 1 : 0;
  }
  return threads;
}

CollectiveCall callOf(Collective collective,
                      const std::vector<float>& input,
                      std::vector<float>& output,
                      std::size_t count) {
  CollectiveCall call;
  call.collective = collective;
  call.send = input.data();
  call.recv = output.data();
  call.count = count;
  call.type = DataType::kFloat32;
  return call;
}

/// Thirds, of which no sum is exact: every order of additions has other bits.
std::vector<float> inputOf(int rank, std::size_t elems) {
  std::vector<float> input(elems);
  for (std::size_t i = 0; i < elems; ++i)
    input[i] = static_cast<float>(i % 1013 + 1) / 3.0f * static_cast<float>(rank + 1);
  return input;
}

/// All ranks' results of large calls of several collectives.
std::vector<std::vector<float>> resultsWith(int workers, int channels) {
  constexpr Collective kCalls[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                   Collective::kAllGather, Collective::kBroadcast,
                                   Collective::kAllToAll};
  const Team team = makeTeam(workers, channels);
  std::vector<std::vector<float>> results(kRanks * std::size(kCalls));
  for (std::size_t at = 0; at < std::size(kCalls); ++at) {
    onAllRanks(team, [&](Communicator& comm, int rank) {
      const std::vector<float> input = inputOf(rank, kRanks * kLarge);
      std::vector<float>& output = results[at * kRanks + static_cast<std::size_t>(rank)];
      output.resize(kRanks * kLarge);
      for (int repeat = 0; repeat < 3; ++repeat)
        EXPECT_TRUE(comm.run(callOf(kCalls[at], input, output, kLarge)).ok());
    });
  }
  EXPECT_EQ(workerThreads(), kRanks * (workers - 1));
  return results;
}

TEST(Workers, ResultsAreTheSameToTheBitHoweverManyThereAre) {
  const auto alone = resultsWith(1, 0);
  for (const int workers : {2, 5})
    EXPECT_TRUE(resultsWith(workers, 0) == alone) << workers << " workers";
  EXPECT_TRUE(resultsWith(3, 7) == alone) << "3 workers, 7 channels";
}

TEST(Workers, AreStartedByTheFirstCallThatWantsThem) {
  const Team team = makeTeam(4);
  onAllRanks(team, [](Communicator& comm, int rank) {
    const std::vector<float> input = inputOf(rank, 100);
    std::vector<float> output(100);
    EXPECT_TRUE(comm.run(callOf(Collective::kAllReduce, input, output, 100)).ok());
  });
  EXPECT_EQ(workerThreads(), 0);
}

TEST(Workers, EndWithTheirCommunicator) {
  for (int cycle = 0; cycle < 200; ++cycle) {
    const Team team = makeTeam(3, 3);
    onAllRanks(team, [](Communicator& comm, int rank) {
      const std::vector<float> input = inputOf(rank, 1000);
      std::vector<float> output(1000);
      EXPECT_TRUE(comm.run(callOf(Collective::kAllReduce, input, output, 1000)).ok());
    });
    ASSERT_EQ(workerThreads(), kRanks * 2) << "cycle " << cycle;
  }
  EXPECT_EQ(workerThreads(), 0);
}

TEST(Workers, StopWhereACommunicatorIsAborted) {
  for (const int callsBefore : {0, 1, 5}) {
    const Team team = makeTeam(3, 6);
    onAllRanks(team, [&](Communicator& comm, int rank) {
      const std::vector<float> input = inputOf(rank, kLarge);
      std::vector<float> output(kLarge);
      Status status;
      for (int call = 0; status.ok(); ++call) {
        if (rank == 1 && call == callsBefore) comm.abort();
        status = comm.run(callOf(Collective::kAllReduce, input, output, kLarge));
      }
      EXPECT_EQ(status.code(), StatusCode::kAborted) << status.message();
      EXPECT_NE(status.message().find("aborted by rank 1"), std::string_view::npos);
    });
  }
}

TEST(Workers, ARankThatDoesNotCallIsNamed) {
  const Team team = makeTeam(3, 6, milliseconds{300});
  onAllRanks(team, [](Communicator& comm, int rank) {
    const std::vector<float> input = inputOf(rank, kLarge);
    std::vector<float> output(kLarge);
    const CollectiveCall call = callOf(Collective::kAllReduce, input, output, kLarge);
    EXPECT_TRUE(comm.run(call).ok());
    if (rank == 1) return;
    const Status status = comm.run(call);
    EXPECT_EQ(status.code(), StatusCode::kTimeout) << status.message();
    EXPECT_NE(status.message().find("rank 1"), std::string_view::npos) << status.message();
    EXPECT_EQ(comm.asyncError().message(), status.message());
  });
}

TEST(Workers, ADifferentCallIsNamed) {
  const Team team = makeTeam(3, 6);
  onAllRanks(team, [](Communicator& comm, int rank) {
    const std::vector<float> input = inputOf(rank, kLarge);
    std::vector<float> output(kLarge);
    EXPECT_TRUE(comm.run(callOf(Collective::kAllReduce, input, output, kLarge)).ok());
    const std::size_t count = rank == 2 ? kLarge - 1000 : kLarge;
    const Status status = comm.run(callOf(Collective::kAllReduce, input, output, count));
    EXPECT_EQ(status.code(), StatusCode::kMismatch) << status.message();
    EXPECT_EQ(comm.asyncError().message(), status.message());
  });
}

TEST(Workers, PartsOfACommunicatorHaveNoMoreThanItHas) {
  const Team team = makeTeam(4, 4);
  std::atomic<int> wrong = 0;
  onAllRanks(team, [&](Communicator& comm, int rank) {
    Config config = comm.config();
    config.workers = 0;
    const auto part = comm.split(rank == 2 ? 1 : 0, rank, &config);
    wrong += part.ok() && (*part)->config().mostWorkers == 4 ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rondo::testing
