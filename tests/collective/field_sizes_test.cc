// Sizes, addresses and aliasing that libraries of this kind have got wrong. The numbers in the
// names are those of our collection of public bug reports.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/buffers.h"
#include "tests/collective/communicators.h"
#include "tests/collective/prepared_call.h"

namespace rondo::testing {
namespace {

constexpr Collective kMovesAndReductions[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                              Collective::kAllGather, Collective::kBroadcast,
                                              Collective::kReduce,    Collective::kAllToAll,
                                              Collective::kGather,    Collective::kScatter};

std::vector<ReduceOp> opsOf(Collective collective, DataType type) {
  std::vector<ReduceOp> ops;
  for (int op = 0; op < kReduceOpCount; ++op) {
    const bool legal =
        isReduction(collective) ? isReducible(type, static_cast<ReduceOp>(op)) : op == 0;
    if (legal) ops.push_back(static_cast<ReduceOp>(op));
  }
  return ops;
}

/// One rank copies, whatever the operation; the recv buffer is 0xee before.
void expectCopies(const Communicators& alone, DataType type, std::size_t count) {
  for (const Collective collective : kMovesAndReductions) {
    for (const ReduceOp op : opsOf(collective, type)) {
      if (op == ReduceOp::kPreMulSum) continue;
      CallSpec spec{.collective = collective, .type = type, .op = op, .count = count};
      const Bytes input = makeInput(type, InputKind::kOrdinary, count, count);
      PreparedCall call(spec, alone, {input});
      call.execute(0);
      ASSERT_EQ(call.verify(), "") << spec.text();
      ASSERT_TRUE(std::ranges::equal(call.output(0), input)) << spec.text();
    }
  }
}

class OneRank : public ::testing::TestWithParam<int> {};

TEST_P(OneRank, R04EveryOperationIsACopy) {
  const Communicators alone({.ranks = 1});
  const auto type = static_cast<DataType>(GetParam());
  // All small counts, then a stride that is prime to every vector length.
  for (std::size_t count = 1; count <= 4099; count += count < 300 ? 1 : 97)
    expectCopies(alone, type, count);
  for (const std::size_t beyond : {4093U, 4094U, 4095U, 4096U, 4097U, 4098U, 4099U})
    expectCopies(alone, type, beyond);
}

TEST_P(OneRank, R04EveryCountTo4099IsCopied) {
  const Communicators alone({.ranks = 1});
  const auto type = static_cast<DataType>(GetParam());
  const Bytes input = makeInput(type, InputKind::kOrdinary, 4099, 4);
  const std::size_t elemBytes = elementBytes(type);
  const ReduceOp op = type == DataType::kBool ? ReduceOp::kSum : ReduceOp::kAvg;
  for (std::size_t count = 1; count <= 4099; ++count) {
    GuardedBuffer recv(count * elemBytes, 0);
    ASSERT_EQ(rondoAllReduce(input.data(), recv.data(), count, static_cast<rondoDataType_t>(type),
                             static_cast<rondoRedOp_t>(op), alone[0], nullptr),
              rondoSuccess);
    ASSERT_EQ(std::memcmp(input.data(), recv.data(), count * elemBytes), 0) << count;
    ASSERT_TRUE(recv.guardsIntact()) << count;
  }
}

TEST_P(OneRank, R04LargeCountsAreCopied) {
  const Communicators alone({.ranks = 1});
  const auto type = static_cast<DataType>(GetParam());
  const std::size_t most = (std::size_t{1} << 20) + 9;
  const Bytes input = makeInput(type, InputKind::kOrdinary, most, 4);
  const std::size_t elemBytes = elementBytes(type);
  for (const std::size_t beyond : {0U, 1U, 7U, 8U, 9U}) {
    const std::size_t count = (std::size_t{1} << 20) + beyond;
    for (const ReduceOp op : opsOf(Collective::kAllReduce, type)) {
      if (op == ReduceOp::kPreMulSum) continue;
      GuardedBuffer recv(count * elemBytes, 0);
      ASSERT_EQ(rondoAllReduce(input.data(), recv.data(), count, static_cast<rondoDataType_t>(type),
                               static_cast<rondoRedOp_t>(op), alone[0], nullptr),
                rondoSuccess);
      ASSERT_EQ(std::memcmp(input.data(), recv.data(), count * elemBytes), 0) << reduceOpName(op);
      ASSERT_TRUE(recv.guardsIntact()) << count;
    }
  }
}

std::string typeNameOf(const ::testing::TestParamInfo<int>& param) {
  return std::string(dataTypeName(static_cast<DataType>(param.param)));
}

INSTANTIATE_TEST_SUITE_P(Types, OneRank, ::testing::Range(0, kDataTypeCount), typeNameOf);

TEST(FieldSizes, S05CountsThatNothingDivides) {
  for (const int ranks : {2, 3, 5, 8}) {
    const Communicators communicators({.ranks = ranks});
    const auto n = static_cast<std::size_t>(ranks);
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kUint8}) {
      for (const std::size_t count : {std::size_t{1}, n - 1, n, n + 1, std::size_t{999983}}) {
        CallSpec spec{.type = type, .count = count, .inputs = InputKind::kSmall};
        ASSERT_EQ(runAndVerify(spec, communicators), "") << ranks << " ranks: " << spec.text();
      }
    }
  }
}

TEST(FieldSizes, S05AnOddCountOfTenMillion) {
  constexpr std::size_t kCount = 10556587;
  constexpr int kRanks = 8;
  const Communicators communicators({.ranks = kRanks});
  std::vector<std::vector<float>> data(kRanks);
  const auto body = [&](int rank) {
    RankTeam::note("all_reduce of 10556587");
    std::vector<float>& own = data[static_cast<std::size_t>(rank)];
    own.assign(kCount + 1, static_cast<float>(rank + 1));
    own.back() = -1;
    EXPECT_EQ(rondoAllReduce(own.data(), own.data(), kCount, rondoFloat32, rondoSum,
                             communicators[rank], nullptr),
              rondoSuccess);
    const auto right = [](float value) { return value == kRanks * (kRanks + 1) / 2; };
    EXPECT_TRUE(std::all_of(own.begin(), own.end() - 1, right));
    EXPECT_EQ(own.back(), -1);
    own = {};
  };
  EXPECT_TRUE(RankTeam::shared().run(kRanks, body, [&] { communicators.abort(); }));
}

/// Two pages of memory between pages that may not be touched.
class FencedPages {
 public:
  FencedPages() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const memory = mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(memory);
    if (mprotect(base_ + page_, 2 * page_, PROT_READ | PROT_WRITE) != 0) ADD_FAILURE();
  }

  ~FencedPages() {
    if (base_ != nullptr) munmap(base_, 4 * page_);
  }

  FencedPages(const FencedPages&) = delete;
  FencedPages& operator=(const FencedPages&) = delete;

  /// `bytes` bytes right after the first fence, or right before the last one.
  std::byte* place(std::size_t bytes, bool atEnd) const {
    return atEnd ? base_ + 3 * page_ - bytes : base_ + page_;
  }

 private:
  std::size_t page_;
  std::byte* base_ = nullptr;
};

rondoResult_t callCollective(Collective collective,
                             const std::byte* send,
                             std::byte* recv,
                             const CallSpec& spec,
                             rondoRedOp_t op,
                             rondoComm_t comm) {
  const auto type = static_cast<rondoDataType_t>(spec.type);
  switch (collective) {
    case Collective::kAllReduce:
      return rondoAllReduce(send, recv, spec.count, type, op, comm, nullptr);
    case Collective::kReduceScatter:
      return rondoReduceScatter(send, recv, spec.count, type, op, comm, nullptr);
    case Collective::kAllGather:
      return rondoAllGather(send, recv, spec.count, type, comm, nullptr);
    case Collective::kBroadcast:
      return rondoBroadcast(send, recv, spec.count, type, spec.root, comm, nullptr);
    case Collective::kAllToAll:
      return rondoAllToAll(send, recv, spec.count, type, comm, nullptr);
    case Collective::kGather:
      return rondoGather(send, recv, spec.count, type, spec.root, comm, nullptr);
    case Collective::kScatter:
      return rondoScatter(send, recv, spec.count, type, spec.root, comm, nullptr);
    default:
      return rondoReduce(send, recv, spec.count, type, op, spec.root, comm, nullptr);
  }
}

/// All types, reductions and counts of one algorithm with buffers at one end of their pages.
void readNothingOutside(AlgorithmId algorithm, bool atEnd) {
  constexpr int kRanks = 2;
  const Communicators communicators({.ranks = kRanks, .algorithm = forcedBy(algorithm)});
  const Collective collective = algorithmInfo(algorithm).collective;
  const FencedPages sends[kRanks];
  const FencedPages recvs[kRanks];
  const auto body = [&](int rank) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      CallSpec spec{.collective = collective, .type = static_cast<DataType>(type)};
      for (const ReduceOp op : opsOf(collective, spec.type)) {
        spec.op = op;
        if (op == ReduceOp::kPreMulSum || !communicators.plan(spec.request()).ok()) continue;
        for (spec.count = 1; spec.count <= 33; ++spec.count) {
          const std::size_t bytes = spec.count * elementBytes(spec.type);
          const RankPlace place{rank, kRanks, spec.root};
          const std::size_t sent = bytes * inputBlocks(collective, place);
          const std::size_t received = bytes * outputBlocks(collective, place);
          std::byte* const send = sends[rank].place(sent, atEnd);
          std::memset(send, 0x3c, sent);
          const rondoResult_t result =
              callCollective(collective, send, recvs[rank].place(received, atEnd), spec,
                             static_cast<rondoRedOp_t>(op), communicators[rank]);
          if (result != rondoSuccess) ADD_FAILURE() << spec.text();
        }
      }
    }
  };
  EXPECT_TRUE(RankTeam::shared().run(kRanks, body, [&] { communicators.abort(); }));
}

TEST(FieldSizes, S06NothingOutsideTheBuffersIsTouched) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (algorithmInfo(algorithmAt(row)).collective == Collective::kBarrier) continue;
    for (const bool atEnd : {false, true})
      readNothingOutside(algorithmAt(row), atEnd);
  }
}

TEST(FieldSizes, S07EveryNaturalAlignmentIsRight) {
  const Communicators communicators({.ranks = 2});
  for (const DataType type : {DataType::kUint8, DataType::kFloat16, DataType::kFloat32}) {
    for (std::size_t shift = elementBytes(type); shift <= 15; shift += elementBytes(type)) {
      for (const Collective collective : kMovesAndReductions) {
        for (const std::size_t count : {1U, 15U, 16U, 17U, 4097U}) {
          CallSpec spec{.collective = collective, .type = type, .count = count};
          spec.sendShift = shift;
          spec.recvShift = (shift * 3 + elementBytes(type)) % 64;
          ASSERT_EQ(runAndVerify(spec, communicators), "") << spec.text();
        }
      }
    }
  }
}

TEST(FieldSizes, S07AnAddressThatIsNoMultipleOfTheElementIsRefused) {
  const Communicators alone({.ranks = 1, .logLevel = "error"});
  alignas(8) std::byte memory[64] = {};
  for (int type = 0; type < kDataTypeCount; ++type) {
    const std::size_t elemBytes = elementBytes(static_cast<DataType>(type));
    for (std::size_t shift = 1; shift < elemBytes; ++shift) {
      const auto publicType = static_cast<rondoDataType_t>(type);
      EXPECT_EQ(
          rondoAllReduce(memory + shift, memory + 32, 1, publicType, rondoMax, alone[0], nullptr),
          rondoInvalidArgument);
      EXPECT_EQ(
          rondoAllReduce(memory, memory + 32 + shift, 1, publicType, rondoMax, alone[0], nullptr),
          rondoInvalidArgument);
    }
  }
}

/// All algorithms of `collective` on four ranks, in place, 5 elements per block.
template <class Check>
void inPlaceOnFour(Collective collective,
                   const std::vector<std::vector<double>>& inputs,
                   const Check& check) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (algorithmInfo(algorithmAt(row)).collective != collective) continue;
    const Communicators communicators({.ranks = 4, .algorithm = forcedBy(algorithmAt(row))});
    CallSpec spec{.collective = collective, .type = DataType::kInt32, .count = 5, .inPlace = true};
    std::vector<Bytes> contributions;
    for (const auto& input : inputs)
      contributions.push_back(elementsOf(spec.type, input));
    PreparedCall call(spec, communicators, contributions);
    ASSERT_TRUE(RankTeam::shared().run(
        4, [&](int rank) { call.execute(rank); }, [&] { communicators.abort(); }));
    ASSERT_EQ(call.verify(), "") << communicators.settings().algorithm;
    for (int rank = 0; rank < 4; ++rank) {
      std::vector<std::int32_t> output(call.output(rank).size() / 4);
      std::memcpy(output.data(), call.output(rank).data(), call.output(rank).size());
      check(rank, output);
    }
  }
}

TEST(FieldSizes, S08AllGatherInPlacePutsEveryBlockAtItsRank) {
  const std::vector<std::int32_t> wanted{0,  1,  2,  3,  4,  10, 11, 12, 13, 14,
                                         20, 21, 22, 23, 24, 30, 31, 32, 33, 34};
  inPlaceOnFour(Collective::kAllGather,
                {{0, 1, 2, 3, 4}, {10, 11, 12, 13, 14}, {20, 21, 22, 23, 24}, {30, 31, 32, 33, 34}},
                [&](int, const std::vector<std::int32_t>& output) { EXPECT_EQ(output, wanted); });
}

TEST(FieldSizes, S08ReduceScatterInPlaceLeavesTheBlockAtItsRank) {
  std::vector<std::vector<double>> inputs(4, std::vector<double>(20));
  for (std::size_t rank = 0; rank < 4; ++rank)
    std::iota(inputs[rank].begin(), inputs[rank].end(), 100.0 * static_cast<double>(rank));
  inPlaceOnFour(Collective::kReduceScatter, inputs,
                [](int rank, const std::vector<std::int32_t>& output) {
                  for (int k = 0; k < 5; ++k)
                    EXPECT_EQ(output[static_cast<std::size_t>(k)], 4 * (5 * rank + k) + 600);
                });
}

TEST(FieldSizes, S09RootedOperationsInPlaceAtEveryRoot) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const Collective collective = algorithmInfo(algorithmAt(row)).collective;
    if (!hasRoot(collective)) continue;
    const Communicators communicators({.ranks = 3, .algorithm = forcedBy(algorithmAt(row))});
    for (int root = 0; root < 3; ++root) {
      for (const bool inPlace : {false, true}) {
        // Off the root the unused buffer is NULL, and send is verified to be unchanged.
        CallSpec spec{.collective = collective, .count = 2, .root = root, .inPlace = inPlace};
        EXPECT_EQ(runAndVerify(spec, communicators), "") << spec.text();
      }
    }
  }
}

TEST(FieldSizes, S11ReduceScatterNeverOverwritesWhatItStillSends) {
  constexpr std::size_t kBlock = 524288;
  constexpr int kIterations = 50;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (algorithmInfo(algorithmAt(row)).collective != Collective::kReduceScatter) continue;
    const Communicators communicators({.ranks = 2, .algorithm = forcedBy(algorithmAt(row))});
    const auto body = [&](int rank) {
      std::vector<double> send(2 * kBlock);
      std::iota(send.begin(), send.end(), 1000.0 * rank);
      const std::vector<double> original = send;
      std::vector<double> recv(kBlock);
      for (int iteration = 0; iteration < kIterations; ++iteration) {
        RankTeam::note("iteration " + std::to_string(iteration));
        const std::uint64_t random = scramble(static_cast<std::uint64_t>(iteration));
        if (rank == 1) std::this_thread::sleep_for(std::chrono::microseconds(random % 2000));
        std::ranges::fill(recv, -1);
        ASSERT_EQ(rondoReduceScatter(send.data(), recv.data(), kBlock, rondoFloat64, rondoSum,
                                     communicators[rank], nullptr),
                  rondoSuccess);
        const double first = 2.0 * static_cast<double>(kBlock) * rank + 1000;
        for (std::size_t k = 0; k < kBlock; ++k)
          ASSERT_EQ(recv[k], first + 2 * static_cast<double>(k)) << iteration;
      }
      ASSERT_EQ(send, original);
    };
    EXPECT_TRUE(RankTeam::shared().run(2, body, [&] { communicators.abort(); }));
  }
}

TEST(FieldSizes, Z01NothingToMoveTakesNoBuffersAndNoTime) {
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const Communicators communicators({.ranks = 3, .algorithm = forcedBy(algorithmAt(row))});
    CallSpec spec{.collective = algorithmInfo(algorithmAt(row)).collective, .count = 0};
    EXPECT_EQ(runAndVerify(spec, communicators), "") << spec.text();
    if (spec.collective == Collective::kBarrier) continue;
    spec.count = 5;
    EXPECT_EQ(runAndVerify(spec, communicators), "") << spec.text();
  }
}

}  // namespace
}  // namespace rondo::testing
