// Thread ranks whose calls do not belong together: an error on every rank, soon, that names both
// calls. And what a rank whose call was rejected may still do.

#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/mismatch_cases.h"
#include "tests/collective/rank_outcomes.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr milliseconds kPromptly{10000};

class Mismatch : public ::testing::TestWithParam<MismatchCase> {};

TEST_P(Mismatch, EveryRankLearnsOfItPromptlyAndInBothWords) {
  for (const int ranks : {2, 4}) {
    for (int odd = 0; odd < ranks; ++odd) {
      const Communicators communicators(quietSettings(ranks));
      for (const Outcome& outcome : outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
             return play(GetParam(), rank == odd, comm);
           })) {
        EXPECT_EQ(outcome.result, rondoMismatch) << ranks << " ranks odd " << odd;
        EXPECT_LT(outcome.took, kPromptly);
        EXPECT_THAT(outcome.message,
                    AllOf(HasSubstr(GetParam().mostText), HasSubstr(GetParam().oddText)))
            << ranks << " ranks odd " << odd;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         Mismatch,
                         ::testing::ValuesIn(mismatchCases()),
                         [](const auto& param) { return param.param.name; });

/// Both ranks think that they are the root, send and go on; calls of other sizes follow.
TEST(DifferentRoots, AreFoundThoughLargeCallsCameBetween) {
  const Communicators communicators(quietSettings(2));
  for (const Outcome& outcome : outcomesOf(communicators, [](int rank, rondoComm_t comm) {
         (void)make({.collective = Collective::kBroadcast, .count = 2, .root = rank}, comm);
         const rondoResult_t large = make({.count = 100000}, comm);
         return large != rondoSuccess ? large : make({.count = 2}, comm);
       })) {
    EXPECT_EQ(outcome.result, rondoMismatch);
    EXPECT_LT(outcome.took, kPromptly);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("root 0"), HasSubstr("root 1")));
  }
}

constexpr Call kRefused{.collective = Collective::kReduce, .root = 99};

/// All three reject a call; rank 1 again and again, a little later than the others need it.
TEST(RejectedCall, MayBeMadeAgainWithOtherArguments) {
  const Communicators communicators(quietSettings(3));
  for (const Outcome& outcome : outcomesOf(communicators, [](int rank, rondoComm_t comm) {
         for (int attempt = 0; attempt < (rank == 1 ? 5 : 1); ++attempt) {
           EXPECT_EQ(make(kRefused, comm), rondoInvalidArgument);
           if (rank == 1) std::this_thread::sleep_for(milliseconds{10});
         }
         const rondoResult_t first = make({}, comm);
         return first != rondoSuccess ? first : rondoBarrier(comm, nullptr);
       })) {
    EXPECT_EQ(outcome.result, rondoSuccess) << outcome.message;
  }
}

TEST(RejectedCall, IsNoExcuseForAnotherCall) {
  const Communicators communicators(quietSettings(2));
  for (const Outcome& outcome : outcomesOf(communicators, [](int rank, rondoComm_t comm) {
         if (rank == 1) {
           EXPECT_EQ(make(kRefused, comm), rondoInvalidArgument);
         }
         return make({.count = rank == 1 ? 7U : 8U}, comm);
       })) {
    EXPECT_EQ(outcome.result, rondoMismatch);
    EXPECT_LT(outcome.took, kPromptly);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("count 7"), HasSubstr("count 8")));
  }
}

}  // namespace
}  // namespace rondo::testing
