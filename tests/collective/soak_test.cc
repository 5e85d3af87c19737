// Long random sequences of calls on several communicators at once. The seed is printed;
// RONDOTEST_SEED repeats a run, RONDOTEST_SOAK_S makes it longer.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/prepared_call.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 4;
constexpr int kCallsPerBatch = 24;

using Clock = std::chrono::steady_clock;

std::uint64_t numberFrom(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::vector<std::unique_ptr<Communicators>> makeCommunicators() {
  const CommunicatorSettings choices[] = {
      {.ranks = kRanks},
      {.ranks = kRanks,
       .algorithm = "all_reduce:ring,reduce_scatter:ring,all_gather:ring,broadcast:chain,"
                    "reduce:tree",
       .chunkBytes = 256,
       .slots = 2},
      {.ranks = kRanks,
       .algorithm = "all_reduce:tree,reduce_scatter:log_tree,all_gather:log_tree,broadcast:tree",
       .channels = 3,
       .chunkBytes = 1024},
      {.ranks = kRanks,
       .algorithm = "all_reduce:two_shot,reduce_scatter:direct,all_gather:direct,reduce:chain",
       .reproducible = true},
      {.ranks = kRanks, .algorithm = "all_reduce:chain", .channels = 2, .chunkBytes = 64},
  };
  std::vector<std::unique_ptr<Communicators>> communicators;
  for (const CommunicatorSettings& settings : choices)
    communicators.push_back(std::make_unique<Communicators>(settings));
  return communicators;
}

class RandomCalls {
 public:
  explicit RandomCalls(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  CallSpec next(const Communicators& communicators) {
    CallSpec spec;
    do {
      spec.collective = static_cast<Collective>(below(kCollectiveCount));
      spec.type = static_cast<DataType>(below(kDataTypeCount));
      spec.op = static_cast<ReduceOp>(below(kReduceOpCount));
    } while (!possible(spec, communicators));
    const bool barrier = spec.collective == Collective::kBarrier;
    // Mostly small, sometimes large; now and then nothing.
    spec.count = barrier ? 0 : below(std::size_t{1} << below(15));
    spec.root = hasRoot(spec.collective) ? static_cast<int>(below(kRanks)) : 0;
    spec.inPlace = !barrier && below(2) == 0;
    spec.sendShift = below(3) * elementBytes(spec.type);
    spec.recvShift = below(3) * elementBytes(spec.type);
    spec.inputs = static_cast<InputKind>(below(kInputKindCount));
    spec.seed = random_();
    return spec;
  }

 private:
  static bool possible(const CallSpec& spec, const Communicators& communicators) {
    if (!isReduction(spec.collective)) return spec.op == ReduceOp::kSum;
    return isReducible(spec.type, spec.op) && communicators.plan(spec.request()).ok();
  }

  std::mt19937_64 random_;
};

/// One in eight calls starts late on some rank, by up to 2 ms.
void maybeSleep(int rank, std::uint64_t seed) {
  const std::uint64_t random = scramble(seed + static_cast<std::uint64_t>(rank));
  if (random % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random / 8 % 2000));
}

struct Drawn {
  CallSpec spec;
  std::size_t communicators;
  std::unique_ptr<PreparedCall> call;
};

TEST(Soak, RandomCallsOnInterleavedCommunicators) {
  const std::uint64_t seed = numberFrom("RONDOTEST_SEED", 7);
  const auto length = std::chrono::seconds(numberFrom("RONDOTEST_SOAK_S", 4));
  std::cout << "seed " << seed << ", " << length.count() << " s\n";
  const auto communicators = makeCommunicators();
  RandomCalls random(seed);
  const Clock::time_point end = Clock::now() + length;
  std::size_t calls = 0;
  while (Clock::now() < end) {
    std::vector<Drawn> batch;
    for (int i = 0; i < kCallsPerBatch; ++i) {
      const std::size_t which = random.below(communicators.size());
      const CallSpec spec = random.next(*communicators[which]);
      batch.push_back({spec, which, std::make_unique<PreparedCall>(spec, *communicators[which])});
    }
    const auto body = [&](int rank) {
      for (const Drawn& drawn : batch) {
        maybeSleep(rank, drawn.spec.seed);
        drawn.call->execute(rank);
      }
    };
    const auto rescue = [&] {
      for (const auto& all : communicators)
        all->abort();
    };
    ASSERT_TRUE(RankTeam::shared().run(kRanks, body, rescue)) << "after " << calls << " calls";
    for (const Drawn& drawn : batch) {
      ASSERT_EQ(drawn.call->verify(), "") << "call " << calls << " on communicators "
                                          << drawn.communicators << ": " << drawn.spec.text();
      ++calls;
    }
  }
  std::cout << calls << " calls\n";
}

}  // namespace
}  // namespace rondo::testing
