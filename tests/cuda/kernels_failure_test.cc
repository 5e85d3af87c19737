// How kernels end that cannot finish, and what they say meanwhile; ranks that are processes.
#include <atomic>
#include <functional>
#include <memory_resource>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cuda/waiting.h"
#include "tests/cuda/device_checks.h"

namespace rondo::testing {
namespace {

using device::kProtocols;
using device::Protocol;
using device::protocolName;
using device::Report;
using emulator::Machine;
using emulator::Options;
using emulator::Outcome;

OperationShape shapeOf(
    Collective collective, const char* algorithm, Protocol protocol, int ranks, std::size_t count) {
  OperationShape shape;
  shape.algorithm = *findAlgorithm(collective, algorithm);
  shape.ranks = ranks;
  shape.protocol = protocol;
  shape.count = count;
  return shape;
}

/// Longer than a wait that has taken long.
Options patientOptions() {
  Options options;
  options.idleRounds = 4 * device::kPollsPerLook * device::kPatientLooks;
  return options;
}

/// What the host does meanwhile: one thread that looks at `word` until `seen` likes it, at most
/// `looks` times, and then calls `act`.
void launchHost(Machine& machine,
                const std::uint64_t& word,
                std::function<bool(std::uint64_t)> seen,
                std::size_t looks,
                std::function<void()> act) {
  machine.launch({.name = "host", .threads = 1}, [=, &word] {
    for (std::size_t i = 0; i < looks; ++i) {
      if (seen(device::observeCounter(word))) break;
    }
    act();
  });
}

bool never(std::uint64_t) {
  return false;
}

/// Longer than any wait that ends: a poll of wide lines takes several turns.
constexpr std::size_t kEndless = 20 * std::size_t{device::kPollsPerLook} * device::kPatientLooks;

struct AlgorithmName {
  Collective collective;
  const char* name;
};

constexpr AlgorithmName kSeveral[] = {{Collective::kAllReduce, "ring"},
                                      {Collective::kAllReduce, "one_shot"},
                                      {Collective::kAllReduce, "tree"},
                                      {Collective::kReduceScatter, "direct"},
                                      {Collective::kAllGather, "ring"}};

TEST(KernelFailure, AbortEndsEveryWait) {
  for (const Protocol protocol : kProtocols) {
    for (const AlgorithmName& algorithm : kSeveral) {
      OperationShape shape = shapeOf(algorithm.collective, algorithm.name, protocol, 4, 3000);
      shape.channels = 2;
      ASSERT_TRUE(legal(shape)) << algorithm.name;
      Operation operation = makeOperation(shape, 1);
      DeviceRanks ranks(deviceShape(shape));
      Machine machine;
      for (const int rank : {0, 1, 3})  // rank 2 never comes
        ranks.enqueueRank(operation, rank, 1, machine);
      const std::uint64_t nothing = 0;
      launchHost(machine, nothing, never, 300, [&] { ranks.abort(); });
      const Outcome outcome = machine.run();
      ASSERT_TRUE(outcome.finished) << outcome.report;
      ASSERT_EQ(ranks.reports().size(), 3u * static_cast<unsigned>(operation.plan.channels));
      for (const auto& report : ranks.reports())
        EXPECT_EQ(report->state, Report::kAborted) << operation.describe();
    }
  }
}

TEST(KernelFailure, AFinishedLaneReportsNothing) {
  for (const Protocol protocol : kProtocols) {
    Operation operation =
        makeOperation(shapeOf(Collective::kAllReduce, "ring", protocol, 3, 500), 1);
    DeviceRanks ranks({.ranks = 3});
    Machine machine;
    ranks.enqueue(operation, machine);
    ASSERT_TRUE(machine.run().finished);
    for (const auto& report : ranks.reports()) {
      EXPECT_EQ(report->state, Report::kNoFailure);
      EXPECT_EQ(report->waits, 0u);
    }
  }
}

TEST(KernelFailure, AbortBeforeTheLaunchEndsItToo) {
  for (const Protocol protocol : kProtocols) {
    Operation operation =
        makeOperation(shapeOf(Collective::kAllReduce, "ring", protocol, 2, 500), 1);
    DeviceRanks ranks({.ranks = 2});
    ranks.abort();
    Machine machine;
    ranks.enqueueRank(operation, 0, 1, machine);
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << outcome.report;
    EXPECT_EQ(ranks.reports().front()->state, Report::kAborted) << protocolName(protocol);
  }
}

TEST(KernelFailure, AnotherCallOfThePeerIsNamed) {
  constexpr std::uint64_t kOurs = 0x1111;
  constexpr std::uint64_t kOther = 0x2222;
  for (const std::size_t otherCount : {std::size_t{100}, std::size_t{90}}) {
    const auto shape = [](std::size_t count) {
      return shapeOf(Collective::kAllReduce, "one_shot", Protocol::kStaged, 3, count);
    };
    Operation ours = makeOperation(shape(100), 1);
    Operation other = makeOperation(shape(otherCount), 1);
    DeviceRanks ranks({.ranks = 3});
    Machine machine;
    ranks.enqueueRank(ours, 0, kOurs, machine);
    ranks.enqueueRank(ours, 1, kOurs, machine);
    ranks.enqueueRank(other, 2, kOther, machine);
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << outcome.report;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const Report& report = *ranks.reports()[rank];
      EXPECT_EQ(report.state, Report::kMismatch) << "rank " << rank;
      EXPECT_EQ(report.otherCall, rank == 2 ? kOurs : kOther) << "rank " << rank;
      EXPECT_EQ(report.peer == 2, rank != 2) << "rank " << rank;
    }
  }
}

TEST(KernelFailure, AnotherSizeOfTheSameCallIsAMismatch) {
  Operation ours =
      makeOperation(shapeOf(Collective::kAllGather, "direct", Protocol::kStaged, 2, 100), 1);
  Operation other =
      makeOperation(shapeOf(Collective::kAllGather, "direct", Protocol::kStaged, 2, 101), 1);
  DeviceRanks ranks({.ranks = 2});
  Machine machine;
  ranks.enqueueRank(ours, 0, 1, machine);
  ranks.enqueueRank(other, 1, 1, machine);
  ASSERT_TRUE(machine.run().finished);
  for (const auto& report : ranks.reports())
    EXPECT_EQ(report->state, Report::kMismatch);
}

/// Runs rank 0 alone until it says for whom it waits.
void expectWaitsFor(const OperationShape& shape, std::int32_t expected) {
  Operation operation = makeOperation(shape, 1);
  DeviceRanks ranks(deviceShape(shape));
  Machine machine(patientOptions());
  constexpr std::uint64_t kCall = 0x123456789;
  ranks.enqueueRank(operation, 0, kCall, machine);
  const Report& report = *ranks.reports().front();
  launchHost(
      machine, report.waits, [](std::uint64_t wait) { return wait != 0; }, kEndless,
      [&] { ranks.abort(); });
  const Outcome outcome = machine.run();
  ASSERT_TRUE(outcome.finished) << outcome.report;
  EXPECT_EQ(Report::waitingFor(report.waits, kCall), expected) << operation.describe();
  EXPECT_EQ(Report::waitingFor(report.waits, kCall + 1), 0);
  EXPECT_EQ(report.state, Report::kAborted);
}

TEST(KernelFailure, ALongWaitNamesThePeer) {
  for (const Protocol protocol : kProtocols) {
    // For data of rank 1, the left neighbour.
    expectWaitsFor(shapeOf(Collective::kAllReduce, "ring", protocol, 2, 4), 2);
    // For rank 1 to take data: the chain's first rank only sends.
    expectWaitsFor(shapeOf(Collective::kBroadcast, "chain", protocol, 3, 9000), -2);
  }
}

// Ranks that are processes.

/// Memory that children of this process share with it.
class SharedMemory {
 public:
  SharedMemory()
      : bytes_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        resource_(bytes_, kBytes, std::pmr::null_memory_resource()) {}

  ~SharedMemory() { munmap(bytes_, kBytes); }

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::pmr::memory_resource* resource() { return &resource_; }

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  void* bytes_;
  std::pmr::monotonic_buffer_resource resource_;
};

struct ProcessRun {
  std::vector<Operation> operations;
  std::vector<std::vector<Bytes>> expected;
};

/// What a child does: 0 if its rank's outputs are right.
int runRank(const ProcessRun& run, int rank, Machine& machine) {
  const Outcome outcome = machine.run();
  if (!outcome.finished) {
    std::fprintf(stderr, "rank %d: %s\n", rank, outcome.report.c_str());
    return 1;
  }
  const auto place = static_cast<std::size_t>(rank);
  for (std::size_t i = 0; i < run.operations.size(); ++i) {
    if (run.operations[i].buffers[place].output == run.expected[i][place]) continue;
    std::fprintf(stderr, "rank %d: wrong result of %s\n", rank,
                 run.operations[i].describe().c_str());
    return 2;
  }
  return 0;
}

void expectProcessesAgree(int rankCount) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what was written before fork() is reported as a race with the child's fibers";
#endif
  SharedMemory memory;
  ProcessRun run;
  for (const Protocol protocol : kProtocols) {
    for (const AlgorithmName& algorithm : kSeveral) {
      OperationShape shape =
          shapeOf(algorithm.collective, algorithm.name, protocol, rankCount, 700);
      shape.channels = 2;
      run.operations.push_back(makeOperation(shape, 3));
      run.expected.push_back(runOnHost(run.operations.back(), shape.slotBytes));
    }
  }
  DeviceRanks ranks({.ranks = rankCount, .memory = memory.resource()});
  std::vector<std::unique_ptr<Machine>> machines;
  for (int rank = 0; rank < rankCount; ++rank) {
    machines.push_back(
        std::make_unique<Machine>(Options{.external = true, .deadline = std::chrono::seconds(60)}));
    std::uint64_t call = 0;
    for (Operation& operation : run.operations)
      ranks.enqueueRank(operation, rank, ++call, *machines.back());
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < rankCount; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(runRank(run, rank, *machines[static_cast<std::size_t>(rank)]));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(KernelProcesses, TwoRanks) {
  expectProcessesAgree(2);
}

TEST(KernelProcesses, FourRanks) {
  expectProcessesAgree(4);
}

}  // namespace
}  // namespace rondo::testing
