// The rules of rondo.h's table: each is broken once, alone, and the message must say who, what and
// how to do better. What is legal must pass.
#include "src/argument_checks.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"

namespace rondo {
namespace {

constexpr std::size_t kCount = 8;
constexpr Caller kCaller{.rank = 2, .ranks = 4};

constexpr Collective kDataCollectives[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                           Collective::kAllGather, Collective::kBroadcast,
                                           Collective::kReduce,    Collective::kAllToAll,
                                           Collective::kGather,    Collective::kScatter};

/// Memory for any call of kCount floats by four ranks, and a legal call of each collective.
class ArgumentChecks : public testing::Test {
 protected:
  /// Out of place; kCaller is the root.
  RawCall legalCall(Collective collective) {
    RawCall raw;
    raw.collective = collective;
    raw.send = first_;
    raw.recv = second_;
    raw.count = kCount;
    raw.type = rondoFloat32;
    raw.root = kCaller.rank;
    return raw;
  }

  Result<CollectiveCall> check(const RawCall& raw) {
    return checkArguments(raw, kCaller, reductions_);
  }

  /// Expects InvalidArgument, and each of `parts` in the message.
  void expectRefused(const RawCall& raw, const std::vector<std::string>& parts) {
    const Status status = check(raw).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    std::string prefix = "rank 2 ";
    prefix += collectiveName(raw.collective);
    EXPECT_EQ(status.message().find(prefix + ": "), 0u) << status.message();
    for (const std::string& part : parts) {
      EXPECT_NE(status.message().find(part), std::string_view::npos)
          << "no \"" << part << "\" in: " << status.message();
    }
  }

  static constexpr std::size_t kElems = kCount * 4;
  alignas(8) float first_[kElems] = {};
  alignas(8) float second_[kElems] = {};
  ReductionTable reductions_;
};

TEST_F(ArgumentChecks, LegalCallsPass) {
  for (const Collective collective : kDataCollectives) {
    const RawCall raw = legalCall(collective);
    const Result<CollectiveCall> call = check(raw);
    ASSERT_TRUE(call.ok()) << call.status().message();
    EXPECT_EQ(call->collective, collective);
    EXPECT_EQ(call->send, raw.send);
    EXPECT_EQ(call->recv, raw.recv);
    EXPECT_EQ(call->count, kCount);
    EXPECT_EQ(call->type, DataType::kFloat32);
    EXPECT_EQ(call->op, ReduceOp::kSum);
    EXPECT_EQ(call->root, raw.root);
    EXPECT_EQ(call->combineScale(), nullptr);
  }
  EXPECT_TRUE(check({.collective = Collective::kBarrier}).ok());
}

TEST_F(ArgumentChecks, UnknownTypes) {
  for (const Collective collective : kDataCollectives) {
    for (const int type : {-1, 17, 1000}) {
      RawCall raw = legalCall(collective);
      raw.type = type;
      expectRefused(raw, {"type " + std::to_string(type), "rondoDataType_t"});
    }
  }
}

TEST_F(ArgumentChecks, UnknownReductions) {
  for (const int op : {-1, 5, 77, static_cast<int>(rondoRedOpFirstDynamic)}) {
    RawCall raw = legalCall(Collective::kAllReduce);
    raw.op = op;
    expectRefused(raw, {"rondoRedOpCreatePreMulSum"});
  }
  RawCall moved = legalCall(Collective::kAllGather);
  moved.op = 77;  // not looked at
  EXPECT_TRUE(check(moved).ok());
}

TEST_F(ArgumentChecks, TheAverageOfTruthValues) {
  RawCall raw = legalCall(Collective::kReduce);
  raw.type = rondoBool;
  raw.op = rondoAvg;
  expectRefused(raw, {"rondoAvg", "rondoMax"});
}

TEST_F(ArgumentChecks, PreMulSum) {
  const float factor = 3.0f;
  const int op = *reductions_.createPreMulSum(DataType::kFloat32, &factor);
  RawCall raw = legalCall(Collective::kReduceScatter);
  raw.op = op;
  const Result<CollectiveCall> call = check(raw);
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->op, ReduceOp::kPreMulSum);
  EXPECT_EQ(*static_cast<const float*>(call->combineScale()), factor);

  raw.type = rondoInt32;
  expectRefused(raw, {"type float", "int32"});

  ASSERT_TRUE(reductions_.destroy(op).ok());
  raw.type = rondoFloat32;
  EXPECT_EQ(check(raw).status().code(), StatusCode::kInvalidUsage);
}

TEST_F(ArgumentChecks, RootsThatAreNoRank) {
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    for (const int root : {-1, 4}) {
      RawCall raw = legalCall(collective);
      raw.root = root;
      expectRefused(raw, {"root " + std::to_string(root), "0 to 3"});
    }
  }
}

TEST_F(ArgumentChecks, CountsBeyondTheAddressSpace) {
  constexpr auto kMax = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  for (const Collective collective : kDataCollectives) {
    RawCall raw = legalCall(collective);
    raw.count = std::numeric_limits<std::size_t>::max();
    expectRefused(raw, {"count 18446744073709551615", "4 bytes"});
    raw.count = kMax / 16 + 1;
    expectRefused(raw, {"count", std::to_string(kMax / 16)});
  }
}

TEST_F(ArgumentChecks, NullBuffers) {
  for (const Collective collective : kDataCollectives) {
    RawCall noSend = legalCall(collective);
    noSend.send = nullptr;
    expectRefused(noSend, {"send is NULL", "bytes"});
    RawCall noRecv = legalCall(collective);
    noRecv.recv = nullptr;
    expectRefused(noRecv, {"recv is NULL"});
  }
}

TEST_F(ArgumentChecks, BuffersThatARankDoesNotNeedAreNotLookedAt) {
  RawCall broadcast = legalCall(Collective::kBroadcast);
  broadcast.root = 0;
  broadcast.send = reinterpret_cast<const void*>(1);
  ASSERT_TRUE(check(broadcast).ok());
  EXPECT_EQ(check(broadcast)->send, nullptr);
  EXPECT_EQ(check(broadcast)->recv, broadcast.recv);
  RawCall reduce = legalCall(Collective::kReduce);
  reduce.root = 0;
  reduce.recv = reinterpret_cast<void*>(1);
  ASSERT_TRUE(check(reduce).ok());
  EXPECT_EQ(check(reduce)->recv, nullptr);
  RawCall gather = legalCall(Collective::kGather);
  gather.root = 0;
  gather.recv = reinterpret_cast<void*>(1);
  ASSERT_TRUE(check(gather).ok());
  EXPECT_EQ(check(gather)->recv, nullptr);
  RawCall scatter = legalCall(Collective::kScatter);
  scatter.root = 0;
  scatter.send = reinterpret_cast<const void*>(1);
  ASSERT_TRUE(check(scatter).ok());
  EXPECT_EQ(check(scatter)->send, nullptr);
}

TEST_F(ArgumentChecks, NothingIsLookedAtWithCountZero) {
  for (const Collective collective : kDataCollectives) {
    RawCall raw = legalCall(collective);
    raw.count = 0;
    raw.send = nullptr;
    raw.recv = reinterpret_cast<void*>(3);
    const Result<CollectiveCall> call = check(raw);
    ASSERT_TRUE(call.ok()) << call.status().message();
    EXPECT_EQ(call->recv, nullptr);
    raw.type = 99;
    EXPECT_FALSE(check(raw).ok());
  }
}

TEST_F(ArgumentChecks, MisalignedBuffers) {
  for (const Collective collective : kDataCollectives) {
    RawCall raw = legalCall(collective);
    raw.send = reinterpret_cast<const std::byte*>(first_) + 2;
    raw.count = 1;
    expectRefused(raw, {"send", "misaligned", "4 bytes"});
    raw = legalCall(collective);
    raw.recv = reinterpret_cast<std::byte*>(second_) + 1;
    raw.count = 1;
    expectRefused(raw, {"recv", "misaligned"});
    raw.type = rondoInt8;
    EXPECT_TRUE(check(raw).ok());
  }
}

TEST_F(ArgumentChecks, InPlaceForms) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kBroadcast,
                                      Collective::kReduce, Collective::kAllToAll}) {
    RawCall raw = legalCall(collective);
    raw.recv = first_;
    EXPECT_TRUE(check(raw).ok());
  }
  for (const Collective collective : {Collective::kReduceScatter, Collective::kScatter}) {
    RawCall scatter = legalCall(collective);
    scatter.recv = first_ + kCaller.rank * kCount;
    EXPECT_TRUE(check(scatter).ok());
  }
  for (const Collective collective : {Collective::kAllGather, Collective::kGather}) {
    RawCall gather = legalCall(collective);
    gather.send = second_ + kCaller.rank * kCount;
    EXPECT_TRUE(check(gather).ok());
  }
}

TEST_F(ArgumentChecks, PartialOverlap) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce}) {
    RawCall raw = legalCall(collective);
    raw.recv = first_ + kCount - 1;
    expectRefused(raw, {"overlap", "recv equal to send for in place"});
    raw.recv = first_ + kCount;  // the first element behind
    EXPECT_TRUE(check(raw).ok());
    raw.send = first_ + 1;
    raw.recv = first_;
    expectRefused(raw, {"overlap"});
  }
  for (const Collective collective : {Collective::kReduceScatter, Collective::kScatter}) {
    RawCall scatter = legalCall(collective);
    scatter.recv = first_;  // rank 0's block
    expectRefused(scatter, {"overlap", "recv equal to send + rank x count"});
  }
  for (const Collective collective : {Collective::kAllGather, Collective::kGather}) {
    RawCall gather = legalCall(collective);
    gather.send = second_ + kElems - 1;
    expectRefused(gather, {"overlap", "send equal to recv + rank x count"});
  }
  RawCall exchange = legalCall(Collective::kAllToAll);
  exchange.recv = first_ + kCount;  // one block on
  expectRefused(exchange, {"overlap", "recv equal to send for in place"});
}

/// Blocks of one element each, two apart: those of the input may lie between those of the output.
TEST_F(ArgumentChecks, BlocksMayBeInterleavedButNotShared) {
  const std::size_t counts[] = {1, 1, 1, 1};
  const std::size_t even[] = {0, 2, 4, 6};
  RawVariedCall raw;
  raw.collective = Collective::kAllToAll;
  raw.type = rondoFloat32;
  raw.send = first_;
  raw.recv = first_ + 1;
  raw.sendBlocks = {counts, even};
  raw.recvBlocks = {counts, even};
  EXPECT_TRUE(checkArguments(raw, kCaller, reductions_).ok());

  const std::size_t shifted[] = {0, 2, 3, 6};  // rank 2's block is rank 2's input block
  raw.recvBlocks = {counts, shifted};
  const Status shared = checkArguments(raw, kCaller, reductions_).status();
  EXPECT_EQ(shared.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(shared.message().find("the send block of rank 2 and the recv block of rank 2 overlap"),
            std::string_view::npos)
      << shared.message();

  const std::size_t twice[] = {8, 2, 4, 2};
  raw.recvBlocks = {counts, twice};
  const Status within = checkArguments(raw, kCaller, reductions_).status();
  EXPECT_EQ(within.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(within.message().find("recv blocks of ranks 1 and 3 overlap"), std::string_view::npos)
      << within.message();

  // A long input block that reaches over others of the input.
  const std::size_t lengths[] = {6, 1, 0, 0};
  const std::size_t from[] = {0, 1, 0, 0};
  raw.sendBlocks = {lengths, from};
  const std::size_t one[] = {0, 0, 1, 0};
  const std::size_t at[] = {0, 0, 4, 0};
  raw.recvBlocks = {one, at};
  EXPECT_NE(checkArguments(raw, kCaller, reductions_)
                .status()
                .message()
                .find("the send block of rank 0 and the recv block of rank 2 overlap"),
            std::string_view::npos);
}

/// An input that lies in a hole of an output is apart from it; in place it is the rank's block.
TEST_F(ArgumentChecks, BlocksOfGathersAreComparedOneByOne) {
  const std::size_t counts[] = {2, 2, 2, 2};
  const std::size_t places[] = {0, 2, 6, 8};
  RawVariedCall raw;
  raw.collective = Collective::kAllGather;
  raw.type = rondoFloat32;
  raw.recv = first_;
  raw.recvBlocks = {counts, places};
  for (const std::size_t offset : {4U, 6U, 10U}) {
    raw.send = first_ + offset;
    EXPECT_TRUE(checkArguments(raw, kCaller, reductions_).ok()) << offset;
  }
  for (const std::size_t offset : {0U, 3U, 5U, 7U}) {
    raw.send = first_ + offset;
    EXPECT_EQ(checkArguments(raw, kCaller, reductions_).status().code(),
              StatusCode::kInvalidArgument)
        << offset;
  }
}

/// Complex numbers are two numbers of their parts' type, in counts and places.
TEST_F(ArgumentChecks, ComplexNumbersAreTakenApart) {
  RawCall raw = legalCall(Collective::kAllReduce);
  raw.type = rondoComplex64;
  const Result<CollectiveCall> call = check(raw);
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->type, DataType::kFloat32);
  EXPECT_TRUE(call->pairs);
  EXPECT_EQ(call->count, 2 * kCount);

  const std::size_t counts[] = {1, 2, 3, 4};
  const std::size_t places[] = {6, 4, 1, 0};
  RawVariedCall varied;
  varied.collective = Collective::kAllToAll;
  varied.type = rondoComplex128;
  varied.sendBlocks = varied.recvBlocks = {counts, places};
  varied.send = first_;
  varied.recv = second_;
  const std::size_t apart[] = {0, 1, 3, 6};
  varied.recvBlocks.offsets = apart;
  const Result<CollectiveCall> taken = checkArguments(varied, kCaller, reductions_);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(taken->sendBlocks.counts[rank], 2 * counts[rank]);
    EXPECT_EQ(taken->sendBlocks.offsets[rank], 2 * places[rank]);
    EXPECT_EQ(taken->recvBlocks.offsets[rank], 2 * apart[rank]);
  }
}

}  // namespace
}  // namespace rondo
