// That a wrong result is noticed: the race believes wrongElements().
#include "perf/race/harness/values.h"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace rondo::race {

namespace {

constexpr std::size_t kBytes = 40'000;
constexpr int kSalt = 1;

/// One rank's buffers, with a call of one operation on them.
class Buffers {
 public:
  Buffers(Operation operation, DataType type, int rank, int ranks)
      : first_(kBytes),
        second_(kBytes),
        work(layOut({.operation = operation, .type = type, .rank = rank, .ranks = ranks},
                    kBytes,
                    first_.data(),
                    second_.data())) {
    fillBuffers(work, kSalt);
  }

  std::uint64_t wrong() const { return wrongElements(work, work.recv, kSalt); }

 private:
  std::vector<std::byte> first_;
  std::vector<std::byte> second_;

 public:
  const Work work;
};

class Values : public testing::TestWithParam<std::tuple<Operation, DataType>> {
 protected:
  Operation operation() const { return std::get<0>(GetParam()); }

  DataType type() const { return std::get<1>(GetParam()); }
};

std::string nameOf(const testing::TestParamInfo<Values::ParamType>& info) {
  return std::string(operationName(std::get<0>(info.param))) + "_" +
         std::string(dataTypeName(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Values,
    testing::Combine(testing::Values(Operation::kAllReduce,
                                     Operation::kReduceScatter,
                                     Operation::kAllGather,
                                     Operation::kBroadcast,
                                     Operation::kReduce,
                                     Operation::kAllToAll,
                                     Operation::kSendRecv),
                     testing::Values(DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16)),
    nameOf);

TEST_P(Values, NothingDoneIsAllWrong) {
  const Buffers buffers(operation(), type(), 0, 3);
  EXPECT_EQ(buffers.wrong(), buffers.work.recvCount());
}

// With one rank every operation is a copy.
TEST_P(Values, ACopyIsRightForOneRank) {
  const Buffers buffers(operation(), type(), 0, 1);
  std::memcpy(buffers.work.recv, buffers.work.send, buffers.work.bytes());
  EXPECT_EQ(buffers.wrong(), 0u);
}

TEST_P(Values, EachWrongElementCounts) {
  const Buffers buffers(operation(), type(), 0, 1);
  std::memcpy(buffers.work.recv, buffers.work.send, buffers.work.bytes());
  buffers.work.recv[0] ^= std::byte{1};
  buffers.work.recv[buffers.work.bytes() - 1] ^= std::byte{1};
  EXPECT_EQ(buffers.wrong(), 2u);
}

// What an earlier call with another salt left behind.
TEST_P(Values, AnOldResultIsWrong) {
  const Buffers buffers(operation(), type(), 0, 1);
  std::memcpy(buffers.work.recv, buffers.work.send, buffers.work.bytes());
  EXPECT_EQ(wrongElements(buffers.work, buffers.work.recv, kSalt + 1), buffers.work.recvCount());
}

// What a codec rounds is forgiven, and no more; NaN never.
TEST(ValuesThatAreRounded, MayBeOffByTheTolerance) {
  const Buffers buffers(Operation::kAllReduce, DataType::kFloat32, 0, 1);
  std::memcpy(buffers.work.recv, buffers.work.send, buffers.work.bytes());
  std::vector<float> result(buffers.work.count);
  std::memcpy(result.data(), buffers.work.recv, buffers.work.bytes());
  result[0] += 0.25F;
  result[1] -= 0.25F;
  result[2] = std::numeric_limits<float>::quiet_NaN();
  const auto* const bytes = reinterpret_cast<const std::byte*>(result.data());
  EXPECT_EQ(wrongElements(buffers.work, bytes, kSalt), 3u);
  EXPECT_EQ(wrongElements(buffers.work, bytes, kSalt, 0.2F), 3u);
  EXPECT_EQ(wrongElements(buffers.work, bytes, kSalt, 0.3F), 1u);
}

// Two ranks' sum is neither rank's input, and a gather of blocks in the wrong order is noticed.
TEST(ValuesOfTwoRanks, OthersBlocksDiffer) {
  const Buffers first(Operation::kAllGather, DataType::kFloat32, 0, 2);
  const Buffers second(Operation::kAllGather, DataType::kFloat32, 1, 2);
  std::memcpy(first.work.recv, first.work.send, first.work.blockBytes());
  std::memcpy(first.work.recv + first.work.blockBytes(), second.work.send,
              second.work.blockBytes());
  EXPECT_EQ(first.wrong(), 0u);
  std::memcpy(first.work.recv, second.work.send, second.work.blockBytes());
  EXPECT_EQ(first.wrong(), first.work.blockCount);
}

TEST(ValuesOfTwoRanks, SumsAreNotInputs) {
  const Buffers one(Operation::kAllReduce, DataType::kFloat32, 0, 2);
  const Buffers other(Operation::kAllReduce, DataType::kFloat32, 1, 2);
  const auto* a = reinterpret_cast<const float*>(one.work.send);
  const auto* b = reinterpret_cast<const float*>(other.work.send);
  auto* sum = reinterpret_cast<float*>(one.work.recv);
  for (std::size_t i = 0; i < one.work.count; ++i) {
    sum[i] = a[i] + b[i];
  }
  EXPECT_EQ(one.wrong(), 0u);
  std::memcpy(one.work.recv, one.work.send, one.work.bytes());
  EXPECT_GT(one.wrong(), 0u);
}

}  // namespace

}  // namespace rondo::race
