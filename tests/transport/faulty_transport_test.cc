// Operations between ranks whose transport has trouble.
#include "tests/transport/faulty_transport.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/executor.h"
#include "src/connection_ends.h"
#include "src/prepared_operation.h"
#include "src/process_group.h"
#include "tests/transport/tcp_rank.h"

namespace rondo::testing {
namespace {

constexpr std::chrono::milliseconds kPatience{30000};
constexpr SlotShape kSlots{1024, 2};

/// Ranks over tcp, each with a transport that pauses at random.
class SlowTeam {
 public:
  explicit SlowTeam(int ranks) {
    std::vector<ProcessGroup::Parts> parts(static_cast<std::size_t>(ranks));
    std::vector<std::string> offers;
    for (int rank = 0; rank < ranks; ++rank) {
      offers.push_back(prepare(rank, ranks, parts[static_cast<std::size_t>(rank)]));
    }
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      EXPECT_TRUE(transports_[rank]->open(offers, Deadline::within(kPatience)).ok());
      groups_.push_back(std::make_shared<ProcessGroup>(std::move(parts[rank])));
    }
  }

  FaultyTransport& transport(int rank) { return *transports_[static_cast<std::size_t>(rank)]; }

  ProcessGroup& group(int rank) { return *groups_[static_cast<std::size_t>(rank)]; }

  std::shared_ptr<RankGroup> shared(int rank) { return groups_[static_cast<std::size_t>(rank)]; }

 private:
  std::string prepare(int rank, int ranks, ProcessGroup::Parts& parts) {
    parts.rank = rank;
    parts.ranks = ranks;
    parts.board = std::make_shared<PrivateBoard>();
    parts.onBoard.resize(static_cast<std::size_t>(ranks));
    parts.onBoard[static_cast<std::size_t>(rank)] = true;
    parts.control = openControl({rank, ranks, kSlots, 1});
    auto tcp =
        std::make_shared<tcp::TcpTransport>(rank, kSlots, parts.control.get(), Status(), kPatience);
    transports_.push_back(
        std::make_shared<FaultyTransport>(std::move(tcp), static_cast<unsigned>(rank) + 1, 40));
    parts.transports = {transports_.back()};
    parts.routes.assign(static_cast<std::size_t>(ranks), {0});
    parts.connectTimeout = kPatience;
    parts.leaveTimeout = kPatience;
    return *transports_.back()->offer();
  }

  std::vector<std::shared_ptr<FaultyTransport>> transports_;
  std::vector<std::shared_ptr<ProcessGroup>> groups_;
};

/// Runs `operation` to its end, without looking at what the peers do.
void runAlone(ProcessGroup& group, int rank, PreparedOperation& operation, const host::Work& work) {
  const Deadline deadline = Deadline::within(kPatience);
  host::Waiter waiter(host::WaitPolicy{}, group.failedFlag(), group.waitPlace(rank));
  host::RunOutcome outcome;
  do {
    outcome = host::runLanes(operation.lanes, work, waiter);
  } while (outcome.result == host::RunResult::kStalled && !deadline.passed());
  EXPECT_EQ(outcome.result, host::RunResult::kDone) << group.failure().message();
}

/// One rank's all-reduces, whose results are known.
void reduceOften(SlowTeam& team, int rank, int ranks) {
  constexpr std::size_t kCount = 20000;
  PlanRequest request;
  request.collective = Collective::kAllReduce;
  request.count = kCount;
  request.type = DataType::kInt32;
  const PlanFacts facts{
      .ranks = ranks, .cpus = 1, .slotBytes = kSlots.bytes, .slotCount = kSlots.count};
  ConnectionEnds ends(rank, team.shared(rank), host::StorePolicy::kMeasured, 0);
  Result<PreparedOperation> operation = prepareOperation(request, facts, {}, rank, {ends});
  ASSERT_TRUE(operation.ok()) << operation.status().message();
  for (int call = 1; call <= 5; ++call) {
    std::vector<std::int32_t> input(kCount);
    std::vector<std::int32_t> output(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      input[i] = static_cast<std::int32_t>(i) * call + rank;
    for (host::Lane& lane : operation->lanes)
      lane.restart();
    host::Work work;
    work.buffers.input = reinterpret_cast<const std::byte*>(input.data());
    work.buffers.output = reinterpret_cast<std::byte*>(output.data());
    work.arithmetic = operation->arithmetic;
    work.call = static_cast<std::uint64_t>(call);
    runAlone(team.group(rank), rank, *operation, work);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(output[i], static_cast<std::int32_t>(i) * call * ranks + ranks * (ranks - 1) / 2);
    }
  }
}

TEST(FaultyTransport, AllReduceIsExactOverATransportThatPauses) {
  constexpr int kRanks = 3;
  SlowTeam team(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const Status joined = team.group(rank).joinControl(Deadline::within(kPatience));
      EXPECT_TRUE(joined.ok()) << joined.message();
      reduceOften(team, rank, kRanks);
      team.group(rank).leave(rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(FaultyTransport, ACutIsALossThatNamesTheTransport) {
  SlowTeam team(2);
  EXPECT_EQ(team.group(0).whyLost(1), "");
  team.transport(0).cut();
  // Not at once: what the peer said on its control link before counts for more.
  const Deadline soon = Deadline::within(kPatience);
  while (team.group(0).whyLost(1).empty() && !soon.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  EXPECT_EQ(team.group(0).whyLost(1), "its tcp connection has ended (cut by the test)");
  EXPECT_EQ(team.group(1).whyLost(0), "");
}

}  // namespace
}  // namespace rondo::testing
