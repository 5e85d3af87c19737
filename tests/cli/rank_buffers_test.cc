// RankBuffers: whatever a faulty operation may do to its buffers is reported.

#include "src/cli/perf/rank_buffers.h"

#include <vector>

#include <gtest/gtest.h>

namespace rondo::perf {
namespace {

constexpr int kRanks = 3;

struct CheckedCall {
  Case what;
  PredictableData data;

  explicit CheckedCall(Collective collective, std::size_t count = 1000)
      : what{.collective = collective, .algorithm = {}, .count = count},
        data({collective, DataType::kFloat32, ReduceOp::kSum, kRanks, 0, count, 0}) {}

  RankBuffers buffers(int rank,
                      Placement placement,
                      std::size_t offsetBytes = 0,
                      bool fromRondo = false) const {
    Result<RankBuffers> made =
        RankBuffers::create(what, data, rank, placement, offsetBytes, fromRondo);
    EXPECT_TRUE(made.ok());
    made->fill();
    return *std::move(made);
  }

  /// What a right operation does.
  void complete(RankBuffers& buffers, int rank) const {
    data.writeExpected(
        rank, {static_cast<std::byte*>(buffers.recv()), data.outputElems(rank) * sizeof(float)});
  }
};

std::byte* outputOf(const RankBuffers& buffers) {
  return static_cast<std::byte*>(buffers.recv());
}

TEST(RankBuffers, RightResultsPass) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kReduce}) {
    const CheckedCall call(collective);
    for (const Placement placement : {Placement::kOutOfPlace, Placement::kInPlace}) {
      for (int rank = 0; rank < kRanks; ++rank) {
        RankBuffers buffers = call.buffers(rank, placement, 4);
        call.complete(buffers, rank);
        EXPECT_EQ(buffers.check().text, "") << collectiveName(collective) << " rank " << rank;
      }
    }
  }
}

TEST(RankBuffers, MayBeMemoryOfRondoMemAlloc) {
  const CheckedCall call(Collective::kAllReduce);
  for (const Placement placement : {Placement::kOutOfPlace, Placement::kInPlace}) {
    RankBuffers buffers = call.buffers(1, placement, 4, /*fromRondo=*/true);
    call.complete(buffers, 1);
    EXPECT_EQ(buffers.check().text, "");
    void* const begin = outputOf(buffers) - 64 - 4;  // before it are guard and offset
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 4096, 0U);
    EXPECT_EQ(rondoMemFree(static_cast<std::byte*>(begin) + 64), rondoInvalidArgument);
  }
}

TEST(RankBuffers, AnOperationThatDoesNothingIsCaught) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
    const CheckedCall call(collective);
    EXPECT_GT(call.buffers(1, Placement::kOutOfPlace).check().wrong, 900U);
    EXPECT_GT(call.buffers(1, Placement::kInPlace).check().wrong, 900U);
  }
}

TEST(RankBuffers, OneFlippedBitIsCaughtAndNamed) {
  const CheckedCall call(Collective::kAllReduce);
  RankBuffers buffers = call.buffers(2, Placement::kInPlace);
  call.complete(buffers, 2);
  outputOf(buffers)[4 * 777] ^= std::byte{0x10};
  const CheckReport report = buffers.check();
  EXPECT_EQ(report.wrong, 1U);
  EXPECT_NE(report.text.find("rank 2: 1 wrong elements, the first at 777: 0x"), std::string::npos)
      << report.text;
}

TEST(RankBuffers, WritesOutsideAreCaught) {
  const CheckedCall call(Collective::kAllReduce, 1001);
  for (const std::ptrdiff_t at : {-1, 1001 * 4}) {
    RankBuffers buffers = call.buffers(0, Placement::kOutOfPlace);
    call.complete(buffers, 0);
    outputOf(buffers)[at] ^= std::byte{1};
    EXPECT_EQ(buffers.check().wrong, 1U) << at;
  }
}

TEST(RankBuffers, AChangedInputIsCaught) {
  const CheckedCall call(Collective::kAllReduce);
  RankBuffers buffers = call.buffers(0, Placement::kOutOfPlace);
  call.complete(buffers, 0);
  *static_cast<std::byte*>(const_cast<void*>(buffers.send())) ^= std::byte{1};
  EXPECT_EQ(buffers.check().wrong, 1U);
}

TEST(RankBuffers, InPlaceTheSmallerBufferIsABlockOfTheLarger) {
  const CheckedCall gather(Collective::kAllGather, 100);
  const RankBuffers gathered = gather.buffers(2, Placement::kInPlace);
  EXPECT_EQ(static_cast<const std::byte*>(gathered.send()), outputOf(gathered) + 2 * 400);
  const CheckedCall scatter(Collective::kReduceScatter, 100);
  const RankBuffers scattered = scatter.buffers(2, Placement::kInPlace);
  EXPECT_EQ(static_cast<const std::byte*>(scattered.send()) + 2 * 400, outputOf(scattered));
}

TEST(RankBuffers, UnusedBuffersAreNull) {
  const CheckedCall reduce(Collective::kReduce);
  EXPECT_EQ(reduce.buffers(1, Placement::kInPlace).recv(), nullptr);
  const CheckedCall broadcast(Collective::kBroadcast);
  EXPECT_EQ(broadcast.buffers(1, Placement::kInPlace).send(), nullptr);
}

}  // namespace
}  // namespace rondo::perf
