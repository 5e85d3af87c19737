// Reductions that a program brings along: functions, factors in memory, and complex numbers.
#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

/// Maps x -> a x + b modulo 2^16, packed into a word. Composed they are associative, and hardly
/// ever commute.
std::uint32_t compose(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t a = (first >> 16) * (second >> 16);
  const std::uint32_t b = (first & 0xffff) * (second >> 16) + (second & 0xffff);
  return a << 16 | (b & 0xffff);
}

std::uint32_t mapOf(int rank, std::size_t element) {
  const auto word = static_cast<std::uint32_t>(1000 * element + 7) * 2654435761U;
  return word + static_cast<std::uint32_t>(rank) * 40503U * 65537U;
}

void composeAll(void* inout, const void* in, size_t count, rondoDataType_t type, void* context) {
  ASSERT_EQ(type, rondoUint32);
  auto* const left = static_cast<std::uint32_t*>(inout);
  const auto* const right = static_cast<const std::uint32_t*>(in);
  for (std::size_t i = 0; i < count; ++i)
    left[i] = compose(left[i], right[i]);
  if (context != nullptr) static_cast<std::atomic<std::size_t>*>(context)->fetch_add(count);
}

std::uint32_t composedUpTo(int ranks, std::size_t element) {
  std::uint32_t all = mapOf(0, element);
  for (int rank = 1; rank < ranks; ++rank)
    all = compose(all, mapOf(rank, element));
  return all;
}

struct Ordered {
  const char* algorithm;
  int ranks;
};

class OrderedFunction : public ::testing::TestWithParam<Ordered> {};

TEST_P(OrderedFunction, SeesItsOperandsInRankOrder) {
  CommunicatorSettings settings;
  settings.ranks = GetParam().ranks;
  settings.algorithm = GetParam().algorithm;
  settings.chunkBytes = 1024;  // many pieces
  const Communicators communicators(settings);
  for (const std::size_t count : {std::size_t{1}, std::size_t{77}, std::size_t{20011}}) {
    runRanks(communicators, [&](int rank) {
      rondoRedOp_t op{};
      std::atomic<std::size_t> combined{0};
      ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, &combined, communicators[rank]),
                rondoSuccess);
      std::vector<std::uint32_t> data(count);
      for (std::size_t i = 0; i < count; ++i)
        data[i] = mapOf(rank, i);
      ASSERT_EQ(rondoAllReduce(data.data(), data.data(), count, rondoUint32, op,
                               communicators[rank], nullptr),
                rondoSuccess)
          << rondoGetLastError(communicators[rank]);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        wrong += data[i] != composedUpTo(communicators.ranks(), i) ? 1U : 0U;
      EXPECT_EQ(wrong, 0U);
      EXPECT_EQ(rondoRedOpDestroy(op, communicators[rank]), rondoSuccess);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         OrderedFunction,
                         ::testing::Values(Ordered{"", 1},
                                           Ordered{"", 2},
                                           Ordered{"", 5},
                                           Ordered{"all_reduce:one_shot", 4},
                                           Ordered{"all_reduce:two_shot", 3},
                                           Ordered{"all_reduce:chain", 4}));

/// Large operands of other ranks are read where they are, in buffers that are not in place.
TEST(UserReduction, ReadsOperandsOfOtherRanksInTheirBuffers) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 200003;
  for (const char* algorithm : {"all_reduce:one_shot", "all_reduce:two_shot", "all_reduce:chain"}) {
    CommunicatorSettings settings;
    settings.ranks = kRanks;
    settings.algorithm = algorithm;
    const Communicators communicators(settings);
    runRanks(communicators, [&](int rank) {
      rondoRedOp_t op{};
      ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, nullptr, communicators[rank]),
                rondoSuccess);
      std::vector<std::uint32_t> data(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        data[i] = mapOf(rank, i);
      const std::vector<std::uint32_t> before = data;
      std::vector<std::uint32_t> result(kCount);
      ASSERT_EQ(rondoAllReduce(data.data(), result.data(), kCount, rondoUint32, op,
                               communicators[rank], nullptr),
                rondoSuccess)
          << rondoGetLastError(communicators[rank]);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kCount; ++i)
        wrong += result[i] != composedUpTo(kRanks, i) ? 1U : 0U;
      EXPECT_EQ(wrong, 0U) << algorithm;
      EXPECT_EQ(data, before) << algorithm;
      EXPECT_EQ(rondoRedOpDestroy(op, communicators[rank]), rondoSuccess);
    });
  }
}

TEST(UserReduction, ReduceAndReduceScatterKeepTheOrderToo) {
  constexpr int kRanks = 3;
  constexpr std::size_t kBlock = 1001;
  const Communicators communicators({.ranks = kRanks});
  runRanks(communicators, [&](int rank) {
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, nullptr, communicators[rank]), rondoSuccess);
    std::vector<std::uint32_t> data(kRanks * kBlock);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = mapOf(rank, i);
    std::vector<std::uint32_t> result(data.size());
    ASSERT_EQ(rondoReduce(data.data(), result.data(), data.size(), rondoUint32, op, 1,
                          communicators[rank], nullptr),
              rondoSuccess);
    for (std::size_t i = 0; rank == 1 && i < data.size(); ++i)
      ASSERT_EQ(result[i], composedUpTo(kRanks, i));
    ASSERT_EQ(rondoReduceScatter(data.data(), result.data(), kBlock, rondoUint32, op,
                                 communicators[rank], nullptr),
              rondoSuccess);
    for (std::size_t i = 0; i < kBlock; ++i)
      ASSERT_EQ(result[i], composedUpTo(kRanks, static_cast<std::size_t>(rank) * kBlock + i));
    // Destroyed while it is only issued: it is carried out as if it were not.
    const Stream stream;
    ASSERT_EQ(rondoReduceScatter(data.data(), result.data(), kBlock, rondoUint32, op,
                                 communicators[rank], stream),
              rondoSuccess);
    EXPECT_EQ(rondoRedOpDestroy(op, communicators[rank]), rondoSuccess);
    stream.synchronize();
    EXPECT_EQ(
        rondoAllReduce(data.data(), data.data(), 1, rondoUint32, op, communicators[rank], nullptr),
        rondoInvalidUsage);
  });
}

/// max by a function, over algorithms that combine in any order.
TEST(UserReduction, ACommutativeOneMayGoAnyWay) {
  for (const char* const algorithm : {"all_reduce:ring", "all_reduce:tree", ""}) {
    const Communicators communicators({.ranks = 4, .algorithm = algorithm});
    runRanks(communicators, [&](int rank) {
      const auto largest = [](void* inout, const void* in, size_t count, rondoDataType_t type,
                              void* /*context*/) {
        ASSERT_EQ(type, rondoFloat64);
        auto* const to = static_cast<double*>(inout);
        for (std::size_t i = 0; i < count; ++i)
          to[i] = std::max(to[i], static_cast<const double*>(in)[i]);
      };
      rondoRedOp_t op{};
      ASSERT_EQ(rondoRedOpCreateUser(&op, largest, 1, nullptr, communicators[rank]), rondoSuccess);
      std::vector<double> data(9001);
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 13) % 31);
      std::vector<double> expected(data.size());
      for (std::size_t i = 0; i < data.size(); ++i) {
        for (std::size_t other = 0; other < 4; ++other)
          expected[i] = std::max(expected[i], static_cast<double>((i * 7 + other * 13) % 31));
      }
      EXPECT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat64, op,
                               communicators[rank], nullptr),
                rondoSuccess)
          << algorithm << ": " << rondoGetLastError(communicators[rank]);
      EXPECT_EQ(data, expected) << algorithm;
    });
  }
}

/// Groups keep the function of each call.
TEST(UserReduction, GroupsAndOtherReductionsMix) {
  const Communicators communicators({.ranks = 2});
  runRanks(communicators, [&](int rank) {
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, nullptr, communicators[rank]), rondoSuccess);
    std::array<std::uint32_t, 2> composed{mapOf(rank, 0), mapOf(rank, 1)};
    std::array<std::uint32_t, 2> added{1, 2};
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(rondoAllReduce(composed.data(), composed.data(), 2, rondoUint32, op,
                             communicators[rank], nullptr),
              rondoSuccess);
    ASSERT_EQ(rondoAllReduce(added.data(), added.data(), 2, rondoUint32, rondoSum,
                             communicators[rank], nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoRedOpDestroy(op, communicators[rank]), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(composed[1], composedUpTo(2, 1));
    EXPECT_EQ(added[1], 4U);
  });
}

TEST(UserReduction, AnAlgorithmThatSwapsOperandsIsRefusedForOrderedOnes) {
  const Communicators communicators(
      {.ranks = 2, .algorithm = "all_reduce:ring", .logLevel = "error"});
  runRanks(communicators, [&](int rank) {
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, nullptr, communicators[rank]), rondoSuccess);
    std::uint32_t data = 0;
    EXPECT_EQ(rondoAllReduce(&data, &data, 1, rondoUint32, op, communicators[rank], nullptr),
              rondoNotSupported);
    EXPECT_THAT(rondoGetLastError(communicators[rank]), HasSubstr("rank order"));
  });
}

/// A function here and a sum there, or functions that are not equally commutative.
TEST(UserReduction, RanksThatDifferAreTold) {
  for (const bool againstSum : {true, false}) {
    const Communicators communicators(quietSettings(2));
    runRanks(communicators, [&](int rank) {
      rondoRedOp_t op = rondoSum;
      if (rank == 0 || !againstSum) {
        ASSERT_EQ(rondoRedOpCreateUser(&op, composeAll, rank, nullptr, communicators[rank]),
                  rondoSuccess);
      }
      std::vector<std::uint32_t> data(5000);
      EXPECT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoUint32, op,
                               communicators[rank], nullptr),
                rondoMismatch);
      EXPECT_THAT(
          rondoGetLastError(communicators[rank]),
          AllOf(HasSubstr("user (in rank order)"), HasSubstr(againstSum ? "sum" : "user ")));
    });
  }
}

TEST(UserReduction, ArgumentsAreChecked) {
  const Communicators communicators(quietSettings(1));
  rondoRedOp_t op{};
  EXPECT_EQ(rondoRedOpCreateUser(nullptr, composeAll, 0, nullptr, communicators[0]),
            rondoInvalidArgument);
  EXPECT_EQ(rondoRedOpCreateUser(&op, nullptr, 0, nullptr, communicators[0]), rondoInvalidArgument);
  EXPECT_EQ(rondoRedOpCreateUser(&op, composeAll, 2, nullptr, communicators[0]),
            rondoInvalidArgument);
  EXPECT_EQ(rondoRedOpCreateUser(&op, composeAll, 0, nullptr, nullptr), rondoInvalidArgument);
}

// Factors in memory.

TEST(PreMulSumInMemory, IsReadWhenAnOperationIsIssued) {
  constexpr int kRanks = 2;
  const Communicators communicators({.ranks = kRanks});
  runRanks(communicators, [&](int rank) {
    float factor = 1.0F;
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreatePreMulSum(&op, &factor, rondoFloat32, rondoScalarDevice,
                                        communicators[rank]),
              rondoSuccess);
    std::vector<float> results;
    for (const float next : {2.0F, 3.0F}) {
      factor = next;
      float value = 10.0F;
      ASSERT_EQ(rondoAllReduce(&value, &value, 1, rondoFloat32, op, communicators[rank], nullptr),
                rondoSuccess);
      results.push_back(value);
    }
    EXPECT_THAT(results, ::testing::ElementsAre(40.0F, 60.0F));
    const Stream stream;
    float value = 10.0F;
    ASSERT_EQ(rondoAllReduce(&value, &value, 1, rondoFloat32, op, communicators[rank], stream),
              rondoSuccess);
    factor = 100.0F;  // issued already
    stream.synchronize();
    EXPECT_EQ(value, 60.0F);
    EXPECT_EQ(rondoRedOpDestroy(op, communicators[rank]), rondoSuccess);
  });
}

// Complex numbers.

template <class T>
class Complex : public ::testing::Test {};

using Parts = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Complex, Parts);

TYPED_TEST(Complex, AreSummedAveragedAndMoved) {
  using Number = std::complex<TypeParam>;
  constexpr int kRanks = 3;
  for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{10007}}) {
    std::vector<Communicator> ranks = Communicator::createAll(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        const Communicator& own = ranks[static_cast<std::size_t>(rank)];
        const auto valueOf = [](int of, std::size_t i) {
          return Number(static_cast<TypeParam>(of + 1), static_cast<TypeParam>(i % 100));
        };
        std::vector<Number> data(count);
        for (std::size_t i = 0; i < count; ++i)
          data[i] = valueOf(rank, i);
        std::vector<Number> result(count);
        own.allReduce(data, result);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(result[i], Number(6, static_cast<TypeParam>(3 * (i % 100))));
        own.allReduce(data, result, rondoAvg);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(result[i], Number(2, static_cast<TypeParam>(i % 100)));
        std::vector<Number> all(kRanks * count);
        own.allGather(data, all);
        for (int from = 0; from < kRanks; ++from)
          ASSERT_EQ(all[static_cast<std::size_t>(from) * count + count - 1],
                    valueOf(from, count - 1));
        // Of different sizes, in reverse order of ranks.
        const std::size_t counts[] = {1, count, 0};
        const std::size_t places[] = {count, 0, 0};
        std::vector<Number> varied(count + 1);
        own.allGatherV(std::span(data).first(counts[rank]), varied, counts, places);
        EXPECT_EQ(varied[0], valueOf(1, 0));
        EXPECT_EQ(varied[count], valueOf(0, 0));
        Group group;
        std::vector<Number> got(count);
        own.send(data, (rank + 1) % kRanks, 5);
        own.recv(got, (rank + kRanks - 1) % kRanks, 5);
        group.end();
        EXPECT_EQ(got[count - 1], valueOf((rank + kRanks - 1) % kRanks, count - 1));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }
}

/// A complex product, as a function of whole numbers, however the message is cut.
TEST(ComplexFunction, GetsWholeNumbers) {
  const Communicators communicators({.ranks = 3, .chunkBytes = 64});
  runRanks(communicators, [&](int rank) {
    const auto multiply = [](void* inout, const void* in, size_t count, rondoDataType_t type,
                             void* /*context*/) {
      ASSERT_EQ(type, rondoComplex128);
      auto* const left = static_cast<std::complex<double>*>(inout);
      const auto* const right = static_cast<const std::complex<double>*>(in);
      for (std::size_t i = 0; i < count; ++i)
        left[i] *= right[i];
    };
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreateUser(&op, multiply, 1, nullptr, communicators[rank]), rondoSuccess);
    std::vector<std::complex<double>> data(999, {0.0, 1.0});
    ASSERT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoComplex128, op,
                             communicators[rank], nullptr),
              rondoSuccess)
        << rondoGetLastError(communicators[rank]);
    EXPECT_EQ(data, std::vector<std::complex<double>>(999, {0.0, -1.0}));
  });
}

TEST(ComplexErrors, WhatHasNoMeaningIsRefused) {
  const Communicators communicators(quietSettings(1));
  rondoComm_t comm = communicators[0];
  std::array<std::complex<float>, 4> data{};
  for (const rondoRedOp_t op : {rondoMin, rondoMax, rondoProd}) {
    EXPECT_EQ(rondoAllReduce(data.data(), data.data(), 4, rondoComplex64, op, comm, nullptr),
              rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("complex"));
  }
  const float factor = 2.0F;
  rondoRedOp_t twice{};
  EXPECT_EQ(
      rondoRedOpCreatePreMulSum(&twice, &factor, rondoComplex64, rondoScalarHostImmediate, comm),
      rondoInvalidArgument);
  ASSERT_EQ(
      rondoRedOpCreatePreMulSum(&twice, &factor, rondoFloat32, rondoScalarHostImmediate, comm),
      rondoSuccess);
  EXPECT_EQ(rondoAllReduce(data.data(), data.data(), 4, rondoComplex64, twice, comm, nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(
      rondoAllReduce(data.data(), data.data(), SIZE_MAX, rondoComplex64, rondoSum, comm, nullptr),
      rondoInvalidArgument);
  EXPECT_EQ(rondoAllReduce(data.data(), data.data(), 1, static_cast<rondoDataType_t>(17), rondoSum,
                           comm, nullptr),
            rondoInvalidArgument);
}

/// 8 floats are no 4 complex numbers, though they are as many bytes.
TEST(ComplexErrors, TypesThatDifferAreNamed) {
  const Communicators communicators(quietSettings(2));
  runRanks(communicators, [&](int rank) {
    std::array<float, 8> data{};
    const bool complex = rank == 0;
    EXPECT_EQ(rondoAllReduce(data.data(), data.data(), complex ? 4 : 8,
                             complex ? rondoComplex64 : rondoFloat32, rondoSum, communicators[rank],
                             nullptr),
              rondoMismatch);
    EXPECT_THAT(rondoGetLastError(communicators[rank]),
                AllOf(HasSubstr("complex64 sum count 4"), HasSubstr("float sum count 8")));
  });
}

}  // namespace
}  // namespace rondo::testing
