#include "kernels/host/waiter.h"

#include <gtest/gtest.h>

#include "kernels/memory_order.h"

namespace rondo::host {
namespace {

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
  Waiter waiter(quickPolicy(), flag);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(waiter.pause(), WaitResult::kContinue);
  EXPECT_EQ(waiter.waited().count(), 0);
}

TEST(Waiter, AsksForAPeerCheckAgainAndAgain) {
  std::uint32_t flag = 0;
  Waiter waiter(quickPolicy(), flag);
  int checks = 0;
  int pauses = 0;
  for (; checks < 3 && pauses < 1000000; ++pauses) {
    checks += waiter.pause() == WaitResult::kCheckPeers ? 1 : 0;
  }
  EXPECT_EQ(checks, 3);
}

TEST(Waiter, CountsFromTheLastProgress) {
  std::uint32_t flag = 0;
  Waiter waiter(quickPolicy(), flag);
  while (waiter.waited().count() < 3)
    (void)waiter.pause();
  waiter.progressed();
  EXPECT_EQ(waiter.waited().count(), 0);
}

TEST(Waiter, SeesTheAbortFlagAtOnce) {
  std::uint32_t flag = 0;
  Waiter waiter(quickPolicy(), flag);
  EXPECT_EQ(waiter.pause(), WaitResult::kContinue);
  raiseFlag(flag);
  EXPECT_EQ(waiter.pause(), WaitResult::kAborted);
}

}  // namespace
}  // namespace rondo::host
