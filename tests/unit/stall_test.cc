#include "src/stall.h"

#include <gtest/gtest.h>

#include "collectives/schedule.h"
#include "kernels/data_type.h"

namespace rondo {
namespace {

CallSignature callNumber(std::uint64_t sequence, Collective collective, std::uint64_t count) {
  CallSignature call;
  call.sequence = sequence;
  call.count = count;
  call.collective = static_cast<std::uint8_t>(collective);
  call.type = static_cast<std::uint8_t>(DataType::kFloat32);
  return call;
}

/// Rank 0, which waits in `own` and has called nothing else that is remembered.
struct WaitingRank {
  explicit WaitingRank(const CallSignature& own) : call(own) { record.begin(call); }

  Waiting view() const { return {0, call, record}; }

  CallSignature call;
  CallRecord record;
};

TEST(Stall, DescribesCallsTheWayUsersWroteThem) {
  CallSignature call = callNumber(12, Collective::kReduce, 64);
  call.op = static_cast<std::uint8_t>(ReduceOp::kMax);
  call.root = 3;
  EXPECT_EQ(describeCall(call), "reduce #12 float max count 64 root 3");
  EXPECT_EQ(describeCall(callNumber(2, Collective::kAllGather, 8)), "all_gather #2 float count 8");
  EXPECT_EQ(describeCall(callNumber(5, Collective::kBarrier, 0)), "barrier #5");
  EXPECT_EQ(describeCall(CallSignature{}), "none");
}

TEST(Stall, WaitsForAPeerThatIsBehindOrAgrees) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  EXPECT_TRUE(judgePeer(WaitingRank(own).view(), 1, record).ok());
  record.begin(callNumber(6, Collective::kBroadcast, 1));
  EXPECT_TRUE(judgePeer(WaitingRank(own).view(), 1, record).ok());
  EXPECT_EQ(describePeer(own, {1, true}, record),
            "rank 1, which has not called yet (its last call: broadcast #6 float count 1 root 0)");
  record.begin(own);
  EXPECT_TRUE(judgePeer(WaitingRank(own).view(), 1, record).ok());
  EXPECT_EQ(describePeer(own, {1, true}, record), "rank 1 to send data");
  EXPECT_EQ(describePeer(own, {1, false}, record), "rank 1 to take data");
}

TEST(Stall, NamesBothCallsThatDoNotBelongTogether) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  record.begin(callNumber(7, Collective::kAllReduce, 65));
  const Status judged = judgePeer(WaitingRank(own).view(), 1, record);
  EXPECT_EQ(judged.code(), StatusCode::kMismatch);
  EXPECT_NE(judged.message().find("count 64"), std::string_view::npos);
  EXPECT_NE(judged.message().find("count 65"), std::string_view::npos);
}

/// Its news came between the look at its record and the look at what it has finished.
TEST(Stall, NamesBothCallsOfAPeerThatHasGoneOnMeanwhile) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  record.begin(callNumber(7, Collective::kAllReduce, 65));
  record.finish(7);
  record.begin(callNumber(8, Collective::kBarrier, 0));
  const Status judged = finishedWithout(WaitingRank(own).view(), 1, record);
  EXPECT_EQ(judged.code(), StatusCode::kMismatch);
  EXPECT_NE(judged.message().find("count 64"), std::string_view::npos) << judged.message();
  EXPECT_NE(judged.message().find("count 65"), std::string_view::npos) << judged.message();
}

TEST(Stall, DoesNotCallEqualCallsDifferent) {
  const CallSignature own = callNumber(7, Collective::kBarrier, 0);
  CallRecord record;
  record.begin(own);
  const Status mismatch = mismatchWith(WaitingRank(own).view(), 1, record, own.fingerprint() + 1);
  EXPECT_EQ(mismatch.code(), StatusCode::kMismatch);
  EXPECT_NE(mismatch.message().find("earlier call"), std::string_view::npos);
}

TEST(Stall, NamesCallsThatAreOverOnBothSides) {
  const CallSignature barrier = callNumber(8, Collective::kBarrier, 0);
  WaitingRank own(callNumber(7, Collective::kBroadcast, 64));
  own.call = barrier;
  own.record.begin(barrier);
  CallRecord record;
  CallSignature theirs = callNumber(7, Collective::kBroadcast, 64);
  theirs.root = 1;
  record.begin(theirs);
  record.begin(barrier);
  for (const Status& status : {judgePeer(own.view(), 1, record),
                               mismatchWith(own.view(), 1, record, theirs.fingerprint())}) {
    EXPECT_EQ(status.code(), StatusCode::kMismatch);
    EXPECT_NE(status.message().find("broadcast #7 float count 64 root 0"), std::string_view::npos);
    EXPECT_NE(status.message().find("broadcast #7 float count 64 root 1"), std::string_view::npos);
  }
}

TEST(Stall, NamesTheCallOfASlotEvenIfTheOwnOneIsForgotten) {
  const WaitingRank own(callNumber(9, Collective::kBarrier, 0));
  CallRecord record;
  const CallSignature sent = callNumber(8, Collective::kAllGather, 5);
  record.begin(sent);
  const Status status = mismatchWith(own.view(), 1, record, sent.fingerprint());
  EXPECT_NE(status.message().find("barrier #9"), std::string_view::npos);
  EXPECT_NE(status.message().find("all_gather #8"), std::string_view::npos);
}

TEST(Stall, SeesARejectionUntilThePeerCallsAgain) {
  const WaitingRank own(callNumber(7, Collective::kReduce, 64));
  CallRecord record;
  record.begin(callNumber(6, Collective::kBarrier, 0));
  EXPECT_FALSE(rejectionOf(own.call, record).has_value());
  record.reject(8, "too early to matter");
  EXPECT_FALSE(rejectionOf(own.call, record).has_value());
  record.reject(7, "root 99 is no rank");
  const auto rejection = rejectionOf(own.call, record);
  ASSERT_TRUE(rejection.has_value());
  const Status status = rejectedBy(own.view(), 1, *rejection);
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_EQ(status.message(),
            "rank 0 called reduce #7 float sum count 64 root 0, but rank 1 rejected its call #7: "
            "root 99 is no rank");
  record.begin(own.call);
  EXPECT_FALSE(rejectionOf(own.call, record).has_value());
}

TEST(Stall, MissesAPeerThatLeftTooEarlyOnly) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  record.begin(own);
  record.finish(7);
  record.leave();
  EXPECT_TRUE(judgePeer(WaitingRank(own).view(), 1, record).ok());
  const Status judged =
      judgePeer(WaitingRank(callNumber(8, Collective::kBarrier, 0)).view(), 1, record);
  EXPECT_EQ(judged.code(), StatusCode::kPeerLost);
  EXPECT_NE(judged.message().find("rank 1"), std::string_view::npos);
}

}  // namespace
}  // namespace rondo
