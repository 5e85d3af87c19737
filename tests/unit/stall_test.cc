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
  EXPECT_TRUE(judgePeer(0, own, 1, record).ok());
  record.begin(callNumber(6, Collective::kBroadcast, 1));
  EXPECT_TRUE(judgePeer(0, own, 1, record).ok());
  EXPECT_EQ(describePeer(own, {1, true}, record),
            "rank 1, which has not called yet (its last call: broadcast #6 float count 1 root 0)");
  record.begin(own);
  EXPECT_TRUE(judgePeer(0, own, 1, record).ok());
  EXPECT_EQ(describePeer(own, {1, true}, record), "rank 1 to send data");
  EXPECT_EQ(describePeer(own, {1, false}, record), "rank 1 to take data");
}

TEST(Stall, NamesBothCallsThatDoNotBelongTogether) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  record.begin(callNumber(7, Collective::kAllReduce, 65));
  const Status judged = judgePeer(0, own, 1, record);
  EXPECT_EQ(judged.code(), StatusCode::kMismatch);
  EXPECT_NE(judged.message().find("count 64"), std::string_view::npos);
  EXPECT_NE(judged.message().find("count 65"), std::string_view::npos);
}

TEST(Stall, DoesNotCallEqualCallsDifferent) {
  const CallSignature own = callNumber(7, Collective::kBarrier, 0);
  CallRecord record;
  record.begin(own);
  const Status mismatch = mismatchWith(0, own, 1, record);
  EXPECT_EQ(mismatch.code(), StatusCode::kMismatch);
  EXPECT_NE(mismatch.message().find("earlier call"), std::string_view::npos);
}

TEST(Stall, MissesAPeerThatLeftTooEarlyOnly) {
  const CallSignature own = callNumber(7, Collective::kAllReduce, 64);
  CallRecord record;
  record.begin(own);
  record.finish(7);
  record.leave();
  EXPECT_TRUE(judgePeer(0, own, 1, record).ok());
  const Status judged = judgePeer(0, callNumber(8, Collective::kBarrier, 0), 1, record);
  EXPECT_EQ(judged.code(), StatusCode::kPeerLost);
  EXPECT_NE(judged.message().find("rank 1"), std::string_view::npos);
}

}  // namespace
}  // namespace rondo
