// What thread ranks see when something goes wrong: calls that do not belong together, ranks that
// never come, leave, or abort. Nobody may hang, and the message must say who and what.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/plain_call.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Mismatches and departures are noticed within this, however long the operation timeout is.
constexpr milliseconds kPromptly{10000};

/// A call of nothing ends at once, so its rank may be gone or further on when the others look.
TEST(MismatchedOrder, NothingAgainstSomethingIsFound) {
  const Communicators communicators(quietSettings(2));
  const auto outcomes = outcomesOf(communicators, [](int rank, rondoComm_t comm) {
    const rondoResult_t first = make({.count = rank == 0 ? 0U : 64U}, comm);
    return first != rondoSuccess ? first : rondoBarrier(comm, nullptr);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result, rondoMismatch) << outcome.message;
    EXPECT_LT(outcome.took, kPromptly);
  }
}

TEST(MismatchedOrder, NothingAgainstSomethingIsFoundAfterTheFormerLeft) {
  Communicators communicators(quietSettings(2));
  Outcome outcome;
  const auto body = [&](int rank) {
    if (rank == 0) {
      EXPECT_EQ(make({.count = 0}, communicators[0]), rondoSuccess);
      EXPECT_EQ(communicators.destroy(0), rondoSuccess);
      return;
    }
    std::this_thread::sleep_for(milliseconds{50});
    outcome.result = make({.count = 64}, communicators[1]);
    outcome.message = rondoGetLastError(communicators[1]);
  };
  ASSERT_TRUE(RankTeam::shared().run(2, body, [&] { communicators.abort(); }));
  EXPECT_EQ(outcome.result, rondoMismatch);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("count 64"), HasSubstr("count 0")));
}

/// By the time the second rank looks, the first is two calls further, and gone.
TEST(MismatchedOrder, NothingAgainstSomethingIsFoundAfterTheFormerWentOn) {
  Communicators communicators(quietSettings(2));
  Outcome outcome;
  const auto body = [&](int rank) {
    if (rank == 0) {
      EXPECT_EQ(make({.count = 0}, communicators[0]), rondoSuccess);
      EXPECT_EQ(make({.collective = Collective::kAllGather, .count = 0}, communicators[0]),
                rondoSuccess);
      EXPECT_EQ(communicators.destroy(0), rondoSuccess);
      return;
    }
    std::this_thread::sleep_for(milliseconds{50});
    outcome.result = make({.count = 64}, communicators[1]);
    outcome.message = rondoGetLastError(communicators[1]);
  };
  ASSERT_TRUE(RankTeam::shared().run(2, body, [&] { communicators.abort(); }));
  EXPECT_EQ(outcome.result, rondoMismatch);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("count 64"), HasSubstr("count 0")));
}

class MismatchedRoot : public ::testing::TestWithParam<Collective> {
 protected:
  /// What ranks get that go on to barriers. Data flows one way, so a rank may return before anyone
  /// can object; it learns of it later on.
  static std::vector<Outcome> outcomes(int ranks, int odd) {
    const Communicators communicators(quietSettings(ranks));
    return outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
      const Call call{.collective = GetParam(), .root = rank == odd ? 1 : 0};
      rondoResult_t result = make(call, comm);
      for (int more = 0; more < 3 && result == rondoSuccess; ++more)
        result = rondoBarrier(comm, nullptr);
      return result;
    });
  }
};

TEST_P(MismatchedRoot, IsFoundPromptlyByEveryRankThatGoesOn) {
  for (const int ranks : {2, 3, 4}) {
    for (int odd = 0; odd < ranks; ++odd) {
      for (const Outcome& outcome : outcomes(ranks, odd)) {
        EXPECT_EQ(outcome.result, rondoMismatch) << ranks << " ranks odd " << odd;
        EXPECT_LT(outcome.took, kPromptly);
        EXPECT_THAT(outcome.message, HasSubstr("all ranks must make the same calls"));
      }
    }
  }
}

/// Also where a slot that an earlier call left behind is all that shows it.
TEST_P(MismatchedRoot, IsSaidInBothWords) {
  for (const int ranks : {2, 3, 4}) {
    for (int odd = 0; odd < ranks; ++odd) {
      for (const Outcome& outcome : outcomes(ranks, odd))
        EXPECT_THAT(outcome.message, AllOf(HasSubstr("root 0"), HasSubstr("root 1")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         MismatchedRoot,
                         ::testing::Values(Collective::kReduce, Collective::kBroadcast),
                         [](const auto& param) {
                           return std::string(collectiveName(param.param));
                         });

/// Without any later call, those who wait for data that nobody sends still find out.
TEST(MismatchedRootAlone, LeavesNobodyWaiting) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    for (int odd = 0; odd < 3; ++odd) {
      const Communicators communicators(quietSettings(3));
      for (const Outcome& outcome : outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
             return make({.collective = collective, .root = rank == odd ? 1 : 0}, comm);
           })) {
        EXPECT_THAT(outcome.result, AnyOf(rondoSuccess, rondoMismatch)) << outcome.message;
        EXPECT_LT(outcome.took, kPromptly);
      }
    }
  }
}

TEST(MissingRank, IsWarnedOfThenTimesOutByName) {
  CommunicatorSettings settings = quietSettings(3);
  settings.logLevel = "warn";
  settings.warningMs = 200;
  settings.operationTimeoutMs = 800;
  const Communicators communicators(settings);
  ::testing::internal::CaptureStderr();
  const auto outcomes = outcomesOf(communicators, [](int rank, rondoComm_t comm) {
    const rondoResult_t first = make({.collective = Collective::kAllGather, .count = 8}, comm);
    if (first != rondoSuccess || rank == 1) return first;
    return make({.count = 77}, comm);
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(outcomes[1].result, rondoSuccess) << "it left before it could be missed";
  for (const std::size_t rank : {0U, 2U}) {
    const Outcome& outcome = outcomes[rank];
    EXPECT_EQ(outcome.result, rondoTimeout) << outcome.message;
    EXPECT_GE(outcome.took, milliseconds{800});
    EXPECT_LT(outcome.took, milliseconds{800} + kPromptly);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("rank 1"), HasSubstr("has not called yet"),
                                       HasSubstr("all_gather #1"), HasSubstr("count 77")));
  }
  EXPECT_THAT(log, AllOf(HasSubstr("warn"), HasSubstr("all_reduce #2"), HasSubstr("rank 1"),
                         HasSubstr("has not called yet")));
}

TEST(MissingRank, IsWarnedOfOnceAndMayStillCome) {
  CommunicatorSettings settings = quietSettings(2);
  settings.logLevel = "warn";
  settings.warningMs = 100;
  const Communicators communicators(settings);
  ::testing::internal::CaptureStderr();
  const auto outcomes = outcomesOf(communicators, [](int rank, rondoComm_t comm) {
    if (rank == 1) std::this_thread::sleep_for(milliseconds{500});
    return make({}, comm);
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(outcomes[0].result, rondoSuccess);
  EXPECT_EQ(outcomes[1].result, rondoSuccess);
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_THAT(log, HasSubstr("rank 1"));
}

TEST(LeavingRank, IsNamedToThoseWhoNeedIt) {
  Communicators communicators(quietSettings(3));
  std::array<Outcome, 3> outcomes;
  const auto body = [&](int rank) {
    Outcome& own = outcomes[static_cast<std::size_t>(rank)];
    own.result = make({.count = 4}, communicators[rank]);
    const Clock::time_point start = Clock::now();
    if (rank == 2) {
      own.result = communicators.destroy(rank);
      return;
    }
    own.result = make({.count = 5}, communicators[rank]);
    own.message = rondoGetLastError(communicators[rank]);
    own.took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  };
  ASSERT_TRUE(RankTeam::shared().run(3, body, [&] { communicators.abort(); }));
  EXPECT_EQ(outcomes[2].result, rondoSuccess);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(outcomes[rank].result, rondoPeerLost) << outcomes[rank].message;
    EXPECT_LT(outcomes[rank].took, kPromptly);
    EXPECT_THAT(outcomes[rank].message,
                AllOf(HasSubstr("rank 2"), HasSubstr("destroyed"), HasSubstr("all_reduce #2")));
  }
}

/// Its part of the operation is done, so the others need nothing more of it.
TEST(LeavingRank, MayLeaveAsSoonAsItsOwnCallReturned) {
  for (int round = 0; round < 50; ++round) {
    Communicators communicators(quietSettings(4));
    const auto body = [&](int rank) {
      const Call call{.collective = round % 2 == 0 ? Collective::kBroadcast : Collective::kReduce,
                      .count = 5000,
                      .root = round % 4};
      EXPECT_EQ(make(call, communicators[rank]), rondoSuccess)
          << rondoGetLastError(communicators[rank]);
      EXPECT_EQ(communicators.destroy(rank), rondoSuccess);
    };
    ASSERT_TRUE(RankTeam::shared().run(4, body, [&] { communicators.abort(); }));
  }
}

/// Ranks 0 and 1 wait for rank 2, which never calls; another thread aborts.
std::vector<Outcome> abortWhileWaiting(const Communicators& communicators) {
  std::atomic<bool> called = false;
  std::thread aborter([&] {
    while (!called)
      std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds{50});
    EXPECT_EQ(rondoCommAbort(communicators[1]), rondoSuccess);
    EXPECT_EQ(rondoCommAbort(communicators[1]), rondoSuccess) << "a second time does no harm";
  });
  auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
    called = true;
    return rank == 2 ? rondoSuccess : make({}, comm);
  });
  aborter.join();
  return outcomes;
}

TEST(Abort, EndsWaitingRanksAndAllLaterCalls) {
  const Communicators communicators(quietSettings(3));
  const std::vector<Outcome> outcomes = abortWhileWaiting(communicators);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(outcomes[rank].result, rondoAborted) << outcomes[rank].message;
    EXPECT_LT(outcomes[rank].took, kPromptly);
    EXPECT_THAT(outcomes[rank].message, HasSubstr("rank 1"));
  }
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(awaitFailure(communicators[rank]), rondoAborted);
    EXPECT_EQ(make({}, communicators[rank]), rondoAborted);
    EXPECT_EQ(rondoBarrier(communicators[rank], nullptr), rondoAborted);
  }
}

TEST(Abort, ManyTimesInTheMiddleOfTraffic) {
  for (int round = 0; round < 30; ++round) {
    const Communicators communicators(quietSettings(4));
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::microseconds{137 * round});
      EXPECT_EQ(rondoCommAbort(communicators[round % 4]), rondoSuccess);
    });
    const auto outcomes = outcomesOf(communicators, [](int, rondoComm_t comm) {
      for (;;) {
        const rondoResult_t result = make({.count = 20000}, comm);
        if (result != rondoSuccess) return result;
      }
    });
    aborter.join();
    for (const Outcome& outcome : outcomes)
      EXPECT_EQ(outcome.result, rondoAborted) << outcome.message;
  }
}

TEST(AfterAFailure, HandlesAreDestroyedInAnyOrder) {
  std::array<int, 3> order{0, 1, 2};
  do {
    Communicators communicators(quietSettings(3));
    const auto outcomes = outcomesOf(communicators, [](int rank, rondoComm_t comm) {
      return make({.count = rank == 1 ? 7U : 8U}, comm);
    });
    for (const Outcome& outcome : outcomes)
      EXPECT_EQ(outcome.result, rondoMismatch);
    for (const int rank : order)
      EXPECT_EQ(communicators.destroy(rank), rondoSuccess);
  } while (std::ranges::next_permutation(order).found);
}

std::size_t entriesIn(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::size_t residentKiB() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsMeaningful = false;  // sanitizers keep freed memory
#else
constexpr bool kMemoryIsMeaningful = true;
#endif

/// Descriptors and threads need fewer rounds than memory to be seen growing.
TEST(Lifecycle, L01TwoHundredCommunicatorsLeaveNothingBehind) {
  constexpr int kCycles = kMemoryIsMeaningful ? 200 : 20;
  constexpr std::size_t kMostGrowthKiB = 2048;
  const auto cycle = [] {
    const Communicators communicators(quietSettings(2));
    for (const Outcome& outcome : outcomesOf(
             communicators, [](int, rondoComm_t comm) { return make({.count = 30000}, comm); })) {
      EXPECT_EQ(outcome.result, rondoSuccess) << outcome.message;
    }
  };
  // Until allocators and caches are warm.
  for (int i = 0; i < kCycles / 10; ++i)
    cycle();
  const std::size_t descriptors = entriesIn("/proc/self/fd");
  const std::size_t threads = entriesIn("/proc/self/task");
  const std::size_t memory = residentKiB();
  for (int i = 0; i < kCycles; ++i)
    cycle();
  EXPECT_EQ(entriesIn("/proc/self/fd"), descriptors);
  EXPECT_EQ(entriesIn("/proc/self/task"), threads);
  const std::size_t growth = std::max(residentKiB(), memory) - memory;
  EXPECT_LT(kMemoryIsMeaningful ? growth : 0, kMostGrowthKiB);
}

TEST(Lifecycle, L05OneRankDestroysLateAndNobodyIsHarmed) {
  Communicators communicators(quietSettings(3));
  const auto body = [&](int rank) {
    EXPECT_EQ(make({.count = 100000}, communicators[rank]), rondoSuccess);
    if (rank == 1) std::this_thread::sleep_for(milliseconds{300});
    EXPECT_EQ(communicators.destroy(rank), rondoSuccess);
  };
  EXPECT_TRUE(RankTeam::shared().run(3, body, [&] { communicators.abort(); }));
}

}  // namespace
}  // namespace rondo::testing
