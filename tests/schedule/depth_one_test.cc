// What one slot per connection does: which algorithms run with it, which deadlock and why. The
// planner relies on minSlots, so the claim must be neither too high nor too low.
#include <string>

#include <gtest/gtest.h>

#include "tests/schedule/matrix.h"

namespace rondo::verifier {
namespace {

/// Two loops and a bit of every part.
Call longCall(AlgorithmId algorithm, int ranks) {
  Call call;
  call.algorithm = algorithm;
  call.chunkElems = 2;
  call.share = {0, 5 * static_cast<std::size_t>(ranks)};
  call.bufferElems = call.share.elems;
  return call;
}

/// One element: a single loop.
Call shortCall(AlgorithmId algorithm) {
  Call call;
  call.algorithm = algorithm;
  call.share = {0, 1};
  call.bufferElems = 1;
  return call;
}

AlgorithmId named(Collective collective, std::string_view name) {
  return findAlgorithm(collective, name).value();
}

Failure outcome(const Call& call, int ranks) {
  const Report report = verify({.ranks = ranks, .slots = 1}, {&call, 1});
  return report.ok() ? Failure::kNone : report.violation->kind;
}

/// Every rank of a ring sends before anybody has received, then waits for its full slot to be
/// emptied by a rank that waits likewise.
TEST(DepthOne, RingsDeadlock) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    const AlgorithmId ring = named(collective, "ring");
    for (int ranks = 3; ranks <= 64; ++ranks)
      EXPECT_EQ(outcome(longCall(ring, ranks), ranks), Failure::kDeadlock) << ranks << " ranks";
  }
}

/// With two ranks the all-reduce ring has the step that receives and sends at once; the other two
/// rings only send, then only receive.
TEST(DepthOne, RingsOfTwoRanks) {
  EXPECT_EQ(outcome(longCall(named(Collective::kAllReduce, "ring"), 2), 2), Failure::kDeadlock);
  EXPECT_EQ(outcome(longCall(named(Collective::kReduceScatter, "ring"), 2), 2), Failure::kNone);
  EXPECT_EQ(outcome(longCall(named(Collective::kAllGather, "ring"), 2), 2), Failure::kNone);
}

/// They send loop i + 1 before they receive loop i, so a single loop still passes.
TEST(DepthOne, OneHopAlgorithmsDeadlockInTheSecondLoop) {
  for (const AlgorithmId algorithm :
       {named(Collective::kAllReduce, "one_shot"), named(Collective::kReduceScatter, "direct"),
        named(Collective::kAllGather, "direct")}) {
    for (int ranks = 2; ranks <= 32; ++ranks) {
      EXPECT_EQ(outcome(longCall(algorithm, ranks), ranks), Failure::kDeadlock) << ranks;
      EXPECT_EQ(outcome(shortCall(algorithm), ranks), Failure::kNone) << ranks;
    }
  }
}

/// The step that sums needs a free slot to every rank, while what it scattered fills the only one:
/// that is read by the other's summing step, which waits likewise.
TEST(DepthOne, TwoShotDeadlocksAtOnce) {
  const AlgorithmId twoShot = named(Collective::kAllReduce, "two_shot");
  for (int ranks = 2; ranks <= 32; ++ranks)
    EXPECT_EQ(outcome(shortCall(twoShot), ranks), Failure::kDeadlock) << ranks;
}

/// minSlots of every algorithm is what the long call shows.
TEST(DepthOne, MinSlotsIsExact) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const AlgorithmId algorithm = algorithmAt(row);
    Call call = longCall(algorithm, 8);
    call.chunkElems = 4;  // log_tree needs half as many as ranks
    const bool runs = outcome(call, 8) == Failure::kNone;
    EXPECT_EQ(algorithmInfo(algorithm).minSlots, runs ? 1 : 2) << algorithmTestName(algorithm);
  }
}

/// The report names every rank, where it stands and whom it waits for.
TEST(DepthOne, DeadlockReportNamesTheWaiters) {
  const Call call = longCall(named(Collective::kAllGather, "ring"), 3);
  const Report report = verify({.ranks = 3, .slots = 1}, {&call, 1});
  ASSERT_FALSE(report.ok());
  const std::string& cause = report.violation->cause;
  for (const char* const part : {"rank 0 call 0 step 1 waits for a free slot to 1",
                                 "rank 1 call 0 step 1 waits for a free slot to 2",
                                 "rank 2 call 0 step 1 waits for a free slot to 0"}) {
    EXPECT_NE(cause.find(part), std::string::npos) << cause;
  }
}

}  // namespace
}  // namespace rondo::verifier
