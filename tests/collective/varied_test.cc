// Operations whose blocks are of different sizes: random ones, with empty blocks and gaps, against
// what their definition says; and what happens when ranks count differently.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Elems = std::vector<std::uint32_t>;
using Counts = std::vector<std::size_t>;

constexpr std::uint32_t kUntouched = 0xeeeeeeee;

/// Where blocks of `counts` lie in a buffer: in a random order, with gaps.
struct Blocks {
  Counts counts;
  Counts places;
  std::size_t elems = 0;

  Blocks(const Counts& sizes, std::uint64_t seed) : counts(sizes), places(sizes.size()) {
    std::mt19937_64 random(seed);
    Counts order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    for (const std::size_t rank : order) {
      elems += random() % 3;
      places[rank] = elems;
      elems += counts[rank];
    }
  }

  bool covers(std::size_t element) const {
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      if (element >= places[rank] && element < places[rank] + counts[rank]) return true;
    }
    return false;
  }
};

/// Element `at` of what rank `from` has for rank `to`.
std::uint32_t element(std::size_t from, std::size_t to, std::size_t at) {
  return static_cast<std::uint32_t>((from * 16 + to) * 1000003 + at * 2654435761U);
}

/// Sizes of the blocks from each rank to each other one; the same on all ranks.
struct Draw {
  std::size_t ranks;
  std::vector<Counts> sizes;  // by sender, by receiver
  std::uint64_t seed;

  Draw(std::size_t n, std::uint64_t number) : ranks(n), sizes(n, Counts(n)), seed(number) {
    std::mt19937_64 random(number);
    const std::size_t most = std::size_t{1} << random() % 15;
    for (Counts& row : sizes) {
      for (std::size_t& size : row)
        size = random() % 4 == 0 ? 0 : random() % most;
    }
  }
};

void fill(Elems& buffer, const Blocks& blocks, std::size_t to, std::size_t from) {
  for (std::size_t at = 0; at < blocks.counts[to]; ++at)
    buffer[blocks.places[to] + at] = element(from, to, at);
}

/// What lies between blocks must stay as it was.
void expectGapsUntouched(const Elems& buffer, const Blocks& blocks) {
  for (std::size_t at = 0; at < buffer.size(); ++at) {
    if (blocks.covers(at)) continue;
    ASSERT_EQ(buffer[at], kUntouched) << at;
  }
}

void allToAll(const Draw& draw, std::size_t rank, rondoComm_t comm) {
  Counts received(draw.ranks);
  for (std::size_t from = 0; from < draw.ranks; ++from)
    received[from] = draw.sizes[from][rank];
  const Blocks out(draw.sizes[rank], draw.seed + rank);
  const Blocks in(received, draw.seed + rank + 100);
  Elems send(out.elems, kUntouched);
  Elems recv(in.elems, kUntouched);
  for (std::size_t to = 0; to < draw.ranks; ++to)
    fill(send, out, to, rank);
  ASSERT_EQ(rondoAllToAllV(send.data(), out.counts.data(), out.places.data(), recv.data(),
                           in.counts.data(), in.places.data(), rondoUint32, comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  for (std::size_t from = 0; from < draw.ranks; ++from) {
    for (std::size_t at = 0; at < in.counts[from]; ++at)
      ASSERT_EQ(recv[in.places[from] + at], element(from, rank, at)) << from << ' ' << at;
  }
  expectGapsUntouched(recv, in);
}

/// The blocks of row 0 of the draw, of their ranks.
void allGather(const Draw& draw, std::size_t rank, rondoComm_t comm, bool inPlace) {
  const Blocks blocks(draw.sizes[0], draw.seed + rank);
  Elems recv(blocks.elems, kUntouched);
  Elems apart(blocks.counts[rank]);
  for (std::size_t at = 0; at < blocks.counts[rank]; ++at)
    apart[at] = element(rank, 0, at);
  std::ranges::copy(apart, recv.begin() + static_cast<std::ptrdiff_t>(blocks.places[rank]));
  const std::uint32_t* const send = inPlace ? recv.data() + blocks.places[rank] : apart.data();
  ASSERT_EQ(rondoAllGatherV(send, recv.data(), blocks.counts.data(), blocks.places.data(),
                            rondoUint32, comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  for (std::size_t from = 0; from < draw.ranks; ++from) {
    for (std::size_t at = 0; at < blocks.counts[from]; ++at)
      ASSERT_EQ(recv[blocks.places[from] + at], element(from, 0, at)) << from << ' ' << at;
  }
  expectGapsUntouched(recv, blocks);
}

void reduceScatter(const Draw& draw, std::size_t rank, rondoComm_t comm, bool inPlace) {
  const Blocks blocks(draw.sizes[0], draw.seed + rank);
  Elems send(blocks.elems, kUntouched);
  for (std::size_t to = 0; to < draw.ranks; ++to)
    fill(send, blocks, to, rank);
  Elems apart(blocks.counts[rank]);
  std::uint32_t* const recv = inPlace ? send.data() + blocks.places[rank] : apart.data();
  ASSERT_EQ(rondoReduceScatterV(send.data(), recv, blocks.counts.data(), blocks.places.data(),
                                rondoUint32, rondoSum, comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  for (std::size_t at = 0; at < blocks.counts[rank]; ++at) {
    std::uint32_t sum = 0;
    for (std::size_t from = 0; from < draw.ranks; ++from)
      sum += element(from, rank, at);
    ASSERT_EQ(recv[at], sum) << at;
  }
}

/// Gathers at `root`, then scatters what was gathered.
void gatherAndScatter(const Draw& draw, std::size_t rank, std::size_t root, rondoComm_t comm) {
  const Blocks blocks(draw.sizes[0], draw.seed);
  const bool isRoot = rank == root;
  Elems all(isRoot ? blocks.elems : 0, kUntouched);
  Elems own(draw.sizes[0][rank]);
  for (std::size_t at = 0; at < own.size(); ++at)
    own[at] = element(rank, 0, at);
  const std::size_t* const counts = isRoot ? blocks.counts.data() : nullptr;
  const std::size_t* const places = isRoot ? blocks.places.data() : nullptr;
  ASSERT_EQ(rondoGatherV(own.data(), own.size(), all.data(), counts, places, rondoUint32,
                         static_cast<int>(root), comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  for (std::size_t from = 0; isRoot && from < draw.ranks; ++from) {
    for (std::size_t at = 0; at < blocks.counts[from]; ++at)
      ASSERT_EQ(all[blocks.places[from] + at], element(from, 0, at)) << from << ' ' << at;
  }
  if (isRoot) expectGapsUntouched(all, blocks);
  Elems back(own.size());
  ASSERT_EQ(rondoScatterV(all.data(), counts, places, back.data(), back.size(), rondoUint32,
                          static_cast<int>(root), comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  ASSERT_EQ(back, own);
}

TEST(Varied, RandomBlocks) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    const Communicators large({.ranks = ranks});
    const Communicators small({.ranks = ranks, .channels = 3, .chunkBytes = 64, .slots = 2});
    for (const Communicators* const communicators : {&large, &small}) {
      const auto body = [&](int number) {
        const auto rank = static_cast<std::size_t>(number);
        const rondoComm_t comm = (*communicators)[number];
        for (std::uint64_t seed = 1; seed <= 12 && !::testing::Test::HasFailure(); ++seed) {
          const Draw draw(static_cast<std::size_t>(ranks), seed);
          RankTeam::note("seed " + std::to_string(seed));
          allToAll(draw, rank, comm);
          allGather(draw, rank, comm, seed % 2 == 0);
          reduceScatter(draw, rank, comm, seed % 2 == 0);
          gatherAndScatter(draw, rank, seed % draw.ranks, comm);
        }
      };
      ASSERT_TRUE(RankTeam::shared().run(ranks, body, [&] { communicators->abort(); }));
    }
  }
}

TEST(Varied, NothingAtAllTakesNoBuffers) {
  const Communicators communicators({.ranks = 3});
  const Counts none(3);
  const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
    EXPECT_EQ(rondoAllToAllV(nullptr, none.data(), none.data(), nullptr, none.data(), none.data(),
                             rondoFloat32, comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(
        rondoAllGatherV(nullptr, nullptr, none.data(), none.data(), rondoFloat32, comm, nullptr),
        rondoSuccess);
    const bool root = rank == 1;
    return rondoGatherV(nullptr, 0, nullptr, root ? none.data() : nullptr,
                        root ? none.data() : nullptr, rondoFloat32, 1, comm, nullptr);
  });
  for (const Outcome& outcome : outcomes)
    EXPECT_EQ(outcome.result, rondoSuccess) << outcome.message;
}

TEST(Varied, OneThreadDrivesAllRanks) {
  constexpr std::size_t kRanks = 3;
  const Communicators communicators({.ranks = kRanks});
  const Counts counts{3, 0, 70000};
  const Counts places{70000, 0, 0};
  std::vector<Elems> in;
  std::vector<Elems> out(kRanks, Elems(70003));
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    in.emplace_back(counts[rank], static_cast<std::uint32_t>(rank + 1));
    ASSERT_EQ(rondoAllGatherV(in[rank].data(), out[rank].data(), counts.data(), places.data(),
                              rondoUint32, communicators[static_cast<int>(rank)], nullptr),
              rondoSuccess);
  }
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
  for (const Elems& all : out) {
    EXPECT_EQ(all[69999], 3U);
    EXPECT_EQ(all[70002], 1U);
  }
}

TEST(VariedErrors, ArgumentsAreChecked) {
  const Communicators alone(quietSettings(1));
  std::array<float, 8> data{};
  const Counts two{2};
  const Counts zero{0};
  const Counts huge{SIZE_MAX / 8};
  EXPECT_EQ(rondoAllGatherV(data.data(), data.data() + 4, nullptr, zero.data(), rondoFloat32,
                            alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]),
              HasSubstr("rank 0 all_gather_v: counts of the recv blocks are NULL"));
  EXPECT_EQ(rondoAllGatherV(data.data(), data.data() + 4, two.data(), nullptr, rondoFloat32,
                            alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoAllGatherV(data.data(), data.data() + 4, two.data(), huge.data(), rondoFloat32,
                            alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("block of rank 0, count 2 at displacement"));
  EXPECT_EQ(rondoAllGatherV(data.data(), data.data() + 1, two.data(), zero.data(), rondoFloat32,
                            alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("send equal to recv + displacements[rank]"));
  EXPECT_EQ(rondoAllToAllV(data.data(), two.data(), zero.data(), data.data(), two.data(),
                           zero.data(), rondoFloat32, alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("overlap; pass separate buffers"));
  EXPECT_EQ(rondoGatherV(data.data(), 1, data.data() + 4, two.data(), zero.data(), rondoFloat32, 0,
                         alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("count 1 of the root's own block is 2"));
  EXPECT_EQ(rondoBarrier(alone[0], nullptr), rondoSuccess);
}

/// Rank 1 expects one element more than rank 0 sends it, or less.
TEST(VariedErrors, CountsThatDifferBetweenTwoRanksAreNamed) {
  for (const std::size_t expected : {0U, 4U, 6U, 40000U}) {
    const Communicators communicators(quietSettings(2));
    const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
      Elems send(5);
      Elems recv(40000);
      const Counts none{0, 0};
      const Counts out{0, rank == 0 ? 5U : 0U};
      const Counts in{rank == 1 ? expected : 0U, 0};
      rondoResult_t result = rondoAllToAllV(send.data(), out.data(), none.data(), recv.data(),
                                            in.data(), none.data(), rondoUint32, comm, nullptr);
      // Whoever noticed nothing does so when the connection is used again: by what is too large for
      // mailboxes.
      std::vector<float> more(5000);
      for (int round = 0; round < 3 && result == rondoSuccess; ++round) {
        result = rondoAllReduce(more.data(), more.data(), more.size(), rondoFloat32, rondoSum, comm,
                                nullptr);
      }
      return result;
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.result, rondoMismatch) << expected;
      EXPECT_THAT(outcome.message, HasSubstr("all_to_all_v #1")) << expected;
    }
  }
}

TEST(VariedErrors, CountsOfAllGatherMustAgree) {
  const Communicators communicators(quietSettings(2));
  const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
    Elems send(10);
    Elems recv(20);
    const Counts counts = rank == 0 ? Counts{3, 4} : Counts{4, 3};
    const Counts places{0, 10};
    return rondoAllGatherV(send.data(), recv.data(), counts.data(), places.data(), rondoUint32,
                           comm, nullptr);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result, rondoMismatch);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("all_gather_v #1 uint32 counts 7 in all"),
                                       HasSubstr("other counts of single blocks")));
  }
}

}  // namespace
}  // namespace rondo::testing
