#include "kernels/host/waiter.h"

#include <algorithm>
#include <span>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/host/executor.h"
#include "kernels/memory_order.h"
#include "transports/doorbell_place.h"

namespace rondo::host {
namespace {

/// Notes what the waiter and the executor do with it.
class NotedPlace final : public WaitPlace {
 public:
  bool progress() override { return progressesLeft > 0 && --progressesLeft >= 0; }

  bool flushed() const override { return progressesLeft == 0 && !stuck; }

  void prepareSleep() override { notes += 'p'; }

  void stayAwake() override { notes += 'a'; }

  void sleep(std::chrono::microseconds atMost) override {
    notes += 's';
    longest = std::max(longest, atMost);
  }

  int progressesLeft = 0;
  bool stuck = false;
  std::string notes;
  std::chrono::microseconds longest{0};
};

WaitPolicy quickPolicy() {
  WaitPolicy policy;
  policy.spinPolls = 10;
  policy.yields = 10;
  policy.firstCheck = std::chrono::microseconds{200};
  policy.checkEvery = std::chrono::microseconds{200};
  return policy;
}

TEST(Waiter, PollsBeforeItLooksAtTheClock) {
  std::uint32_t flag = 0;
  NotedPlace place;
  Waiter waiter(quickPolicy(), flag, place);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(waiter.pause(), WaitResult::kContinue);
  EXPECT_EQ(waiter.waited().count(), 0);
}

TEST(Waiter, AsksForAPeerCheckAgainAndAgain) {
  std::uint32_t flag = 0;
  NotedPlace place;
  Waiter waiter(quickPolicy(), flag, place);
  int checks = 0;
  int pauses = 0;
  for (; checks < 3 && pauses < 1000000; ++pauses) {
    checks += waiter.pause() == WaitResult::kCheckPeers ? 1 : 0;
  }
  EXPECT_EQ(checks, 3);
}

TEST(Waiter, CountsFromTheLastProgress) {
  std::uint32_t flag = 0;
  NotedPlace place;
  Waiter waiter(quickPolicy(), flag, place);
  while (waiter.waited().count() < 3)
    (void)waiter.pause();
  waiter.progressed();
  EXPECT_EQ(waiter.waited().count(), 0);
}

TEST(Waiter, SeesTheAbortFlagAtOnce) {
  std::uint32_t flag = 0;
  NotedPlace place;
  Waiter waiter(quickPolicy(), flag, place);
  EXPECT_EQ(waiter.pause(), WaitResult::kContinue);
  raiseFlag(flag);
  EXPECT_EQ(waiter.pause(), WaitResult::kAborted);
}

WaitPolicy sleepyPolicy() {
  WaitPolicy policy = quickPolicy();
  policy.spinPolls = 0;
  policy.yields = 1;
  policy.firstCheck = policy.checkEvery = std::chrono::seconds{1};
  policy.longestSleep = std::chrono::microseconds{77};
  return policy;
}

TEST(Waiter, LooksOnceMoreBetweenAnnouncingAndSleeping) {
  std::uint32_t flag = 0;
  NotedPlace place;
  Waiter waiter(sleepyPolicy(), flag, place);
  (void)waiter.pause();
  EXPECT_EQ(place.notes, "p");
  (void)waiter.pause();
  EXPECT_EQ(place.notes, "ps");
  EXPECT_EQ(place.longest.count(), 77);
}

TEST(Waiter, StaysAwakeIfSomethingMovedMeanwhile) {
  std::uint32_t flag = 0;
  NotedPlace place;
  {
    Waiter waiter(sleepyPolicy(), flag, place);
    (void)waiter.pause();
    waiter.progressed();
    EXPECT_EQ(place.notes, "pa");
    (void)waiter.pause();
  }
  EXPECT_EQ(place.notes, "papa") << "an operation that ends leaves no announcement behind";
}

TEST(Executor, EndsOnceWhatWasPostedHasLeft) {
  std::uint32_t flag = 0;
  NotedPlace place;
  place.progressesLeft = 5;
  Waiter waiter(quickPolicy(), flag, place);
  EXPECT_EQ(runLanes(std::span<Lane>(), {}, waiter).result, RunResult::kDone);
  EXPECT_EQ(place.progressesLeft, 0);
}

TEST(Executor, SaysSoWhileItCannotLeave) {
  std::uint32_t flag = 0;
  NotedPlace place;
  place.stuck = true;
  Waiter waiter(quickPolicy(), flag, place);
  const RunOutcome outcome = runLanes(std::span<Lane>(), {}, waiter);
  EXPECT_EQ(outcome.result, RunResult::kStalled);
  EXPECT_TRUE(outcome.flushing);
  EXPECT_LT(outcome.blocked.peer, 0);
  raiseFlag(flag);
  EXPECT_EQ(runLanes(std::span<Lane>(), {}, waiter).result, RunResult::kAborted);
}

TEST(DoorbellPlace, SleepsUntilTheBellRings) {
  Doorbell bell;
  DoorbellPlace place(bell);
  std::uint64_t posted = 0;
  for (std::uint64_t round = 1; round <= 200; ++round) {
    std::thread peer([&] {
      if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{200});
      postCounter(posted, round);
      bell.ring();
    });
    const auto start = Waiter::Clock::now();
    place.prepareSleep();
    if (observeCounter(posted) == round) {
      place.stayAwake();
    } else {
      place.sleep(std::chrono::seconds{10});
    }
    EXPECT_LT(Waiter::Clock::now() - start, std::chrono::seconds{5}) << "round " << round;
    EXPECT_FALSE(sleepAnnounced(bell.asleep));
    peer.join();
  }
}

TEST(DoorbellPlace, WakesByItselfInTheEnd) {
  Doorbell bell;
  DoorbellPlace place(bell);
  place.prepareSleep();
  place.sleep(std::chrono::milliseconds{2});
  EXPECT_FALSE(sleepAnnounced(bell.asleep));
}

}  // namespace
}  // namespace rondo::host
