// rondo.hpp: each call once on three threads, types found by themselves, failures as exceptions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.hpp"

namespace {

using rondo::Communicator;

constexpr int kRanks = 3;

struct Half {
  std::uint16_t bits;
};

}  // namespace

template <>
struct rondo::ElementType<Half> {
  static constexpr rondoDataType_t value = rondoFloat16;
};

namespace {

static_assert(rondo::ElementType<char>::value == (std::is_signed_v<char> ? rondoInt8 : rondoUint8));
static_assert(rondo::ElementType<unsigned long>::value == rondoUint64);
static_assert(rondo::ElementType<long long>::value == rondoInt64);
static_assert(rondo::ElementType<bool>::value == rondoBool);
static_assert(rondo::Element<Half> && !rondo::Element<std::string> && !rondo::Element<int*>);
static_assert(!rondo::WritableElementRange<const std::vector<float>&>);
static_assert(!rondo::SendAndRecv<std::vector<float>, std::vector<double>&>);
static_assert(std::is_nothrow_move_constructible_v<Communicator>);
static_assert(!std::is_copy_constructible_v<Communicator>);

/// Runs `body` on every rank, in threads; a thread's exception fails the test.
void onAllRanks(const std::function<void(const Communicator&)>& body) {
  const std::vector<Communicator> communicators = Communicator::createAll(kRanks);
  std::vector<std::thread> threads;
  for (const Communicator& communicator : communicators) {
    threads.emplace_back([&] { EXPECT_NO_THROW(body(communicator)); });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(CppApi, KnowsItsPlace) {
  const std::vector<Communicator> communicators = Communicator::createAll(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(communicators[static_cast<std::size_t>(rank)].rank(), rank);
    EXPECT_EQ(communicators[static_cast<std::size_t>(rank)].ranks(), kRanks);
    for (int peer = 0; peer < kRanks; ++peer) {
      EXPECT_STREQ(communicators[static_cast<std::size_t>(rank)].transport(peer),
                   peer == rank ? "self" : "inproc");
    }
  }
}

TEST(CppApi, Reductions) {
  onAllRanks([](const Communicator& communicator) {
    const int rank = communicator.rank();
    const std::vector<float> input(5, static_cast<float>(rank));
    std::array<float, 5> sum{};
    communicator.allReduce(input, sum);
    EXPECT_EQ(sum[4], 3.0f);
    std::vector<long> greatest(7, rank);
    communicator.allReduce(greatest, rondoMax);
    EXPECT_EQ(greatest[6], 2);
    communicator.allReduce(std::span(greatest).first(2));
    EXPECT_EQ(greatest[1], 6);
    EXPECT_EQ(greatest[2], 2);
    std::vector<double> atRoot(rank == 1 ? 4 : 0);
    communicator.reduce(std::vector<double>(4, 1.5), atRoot, 1);
    for (const double value : atRoot)
      EXPECT_EQ(value, 4.5);
    std::vector<int> blocks(kRanks * 2, rank + 1);
    std::vector<int> block(2);
    communicator.reduceScatter(blocks, block);
    EXPECT_EQ(block[1], 6);
  });
}

TEST(CppApi, PreMulSum) {
  onAllRanks([](const Communicator& communicator) {
    const rondo::PreMulSum weighted = communicator.preMulSum(0.5f);
    std::vector<float> data(3, 4.0f);
    communicator.allReduce(data, weighted);
    EXPECT_EQ(data[2], 6.0f);
  });
}

TEST(CppApi, Movement) {
  onAllRanks([](const Communicator& communicator) {
    const int rank = communicator.rank();
    std::vector<Half> all(kRanks);
    communicator.allGather(std::vector<Half>(1, Half{static_cast<std::uint16_t>(rank)}), all);
    EXPECT_EQ(all[2].bits, 2);
    std::array<std::byte, 3> bytes{};
    if (rank == 2) bytes.fill(std::byte{9});
    communicator.broadcast(bytes, 2);
    EXPECT_EQ(bytes[0], std::byte{9});
    std::vector<int> mine(kRanks, 10 * rank);
    for (std::size_t peer = 0; peer < mine.size(); ++peer)
      mine[peer] += static_cast<int>(peer);
    std::vector<int> theirs(kRanks);
    communicator.allToAll(mine, theirs);
    EXPECT_EQ(theirs[2], 20 + rank);
    std::vector<int> collected(rank == 1 ? kRanks : 0);
    communicator.gather(std::array<int, 1>{rank}, collected, 1);
    EXPECT_EQ(collected, rank == 1 ? (std::vector<int>{0, 1, 2}) : std::vector<int>());
    std::array<int, 1> handed{};
    communicator.scatter(collected, handed, 1);
    EXPECT_EQ(handed[0], rank);
    communicator.barrier();
  });
}

/// The result of the Error that `body` throws; rondoSuccess if none.
rondoResult_t resultOf(const std::function<void()>& body, const std::string& part) {
  try {
    body();
  } catch (const rondo::Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    return error.result();
  }
  return rondoSuccess;
}

TEST(CppApi, SplitsAndFinalizes) {
  onAllRanks([](const Communicator& whole) {
    const Communicator part = whole.split(whole.rank() == 1 ? RONDO_NO_COLOR : 0, -whole.rank());
    EXPECT_EQ(part.handle() == nullptr, whole.rank() == 1);
    if (whole.rank() == 1) return;
    EXPECT_EQ(part.ranks(), 2);
    EXPECT_EQ(part.rank(), whole.rank() == 2 ? 0 : 1);
    part.barrier();
    part.finalize();
    EXPECT_THROW(part.barrier(), rondo::Error);
  });
}

TEST(CppApi, MessagesAndGroups) {
  onAllRanks([](const Communicator& communicator) {
    const int rank = communicator.rank();
    std::array<int, 2> received{};
    const std::vector<int> sent{rank, 10 * rank};
    rondo::Group group;
    communicator.send(sent, (rank + 1) % kRanks);
    communicator.recv(received, (rank + 2) % kRanks);
    group.end();
    EXPECT_EQ(received[1], 10 * ((rank + 2) % kRanks));
    {
      const rondo::Group abandoned;
      communicator.send(received, 0);
    }
    communicator.barrier();
  });
}

TEST(CppApi, BlocksOfDifferentSizes) {
  onAllRanks([](const Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const std::array<std::size_t, 3> counts{2, 0, 1};
    const std::array<std::size_t, 3> places{1, 0, 0};
    const std::vector<int> own(counts[rank], static_cast<int>(rank) + 1);
    std::vector<int> all(3);
    communicator.allGatherV(own, all, counts, places);
    EXPECT_EQ(all, (std::vector<int>{3, 1, 1}));
    std::vector<int> sums(counts[rank]);
    communicator.reduceScatterV(all, sums, counts, places);
    EXPECT_EQ(sums, std::vector<int>(counts[rank], rank == 0 ? 3 : 9));
    std::vector<int> collected(rank == 1 ? 3 : 0);
    communicator.gatherV(own, collected, counts, places, 1);
    EXPECT_EQ(collected, rank == 1 ? all : std::vector<int>());
    std::vector<int> handed(counts[rank]);
    communicator.scatterV(collected, counts, places, handed, 1);
    EXPECT_EQ(handed, own);
    // Rank r sends p elements to rank p.
    const std::array<std::size_t, 3> out{0, 1, 2};
    const std::array<std::size_t, 3> outPlaces{0, 0, 1};
    const std::array<std::size_t, 3> in{rank, rank, rank};
    const std::array<std::size_t, 3> inPlaces{0, rank, 2 * rank};
    const std::vector<int> sent(3, static_cast<int>(rank));
    std::vector<int> received(3 * rank);
    communicator.allToAllV(sent, out, outPlaces, received, in, inPlaces);
    for (std::size_t at = 0; at < received.size(); ++at)
      EXPECT_EQ(received[at], static_cast<int>(at / rank));
  });
}

TEST(CppApi, FailuresAreExceptions) {
  std::vector<Communicator> communicators = Communicator::createAll(1);
  std::vector<float> three(3);
  std::vector<float> four(4);
  EXPECT_EQ(resultOf([&] { communicators[0].allReduce(three, four); }, "3 and 4 elements"),
            rondoInvalidArgument);
  EXPECT_EQ(resultOf([&] { communicators[0].broadcast(three, 7); }, "root 7"),
            rondoInvalidArgument);
  std::vector<Communicator> two = Communicator::createAll(2);
  EXPECT_EQ(resultOf([&] { two[0].allToAll(three, three); }, "no whole number of blocks"),
            rondoInvalidArgument);
  EXPECT_EQ(resultOf([] { (void)Communicator::createAll(0); }, "ranks is 0"), rondoInvalidArgument);
  const Communicator moved = std::move(communicators[0]);
  EXPECT_EQ(resultOf([&] { communicators[0].barrier(); }, "comm is NULL"), rondoInvalidArgument);
  moved.abort();
  EXPECT_EQ(moved.asyncError(), rondoAborted);
  EXPECT_EQ(resultOf([&] { moved.barrier(); }, "aborted"), rondoAborted);
}

}  // namespace
