// Messages from rank to rank and groups: what they move, in which order, and how they fail.
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
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

/// What rank `from` sends to rank `to` as its message number `number`.
std::vector<float> letter(int from, int to, std::size_t count, int number = 0) {
  std::vector<float> text(count);
  std::iota(text.begin(), text.end(), static_cast<float>(1000 * from + 100 * to + 10 * number));
  return text;
}

rondoResult_t send(const std::vector<float>& text, int peer, rondoComm_t comm) {
  return rondoSend(text.data(), text.size(), rondoFloat32, peer, comm, nullptr);
}

rondoResult_t recv(std::vector<float>& text, int peer, rondoComm_t comm) {
  return rondoRecv(text.data(), text.size(), rondoFloat32, peer, comm, nullptr);
}

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

TEST(Messages, GoFromRankToRank) {
  for (const std::size_t count : {0U, 1U, 1000U, 300000U}) {
    const Communicators communicators({.ranks = 3});
    runRanks(communicators, [&](int rank) {
      // Rank 2 does not take part.
      if (rank == 0) {
        EXPECT_EQ(send(letter(0, 1, count), 1, communicators[0]), rondoSuccess);
      } else if (rank == 1) {
        std::vector<float> got(count);
        EXPECT_EQ(recv(got, 0, communicators[1]), rondoSuccess);
        EXPECT_EQ(got, letter(0, 1, count));
      }
    });
  }
}

TEST(Messages, OfOnePairKeepTheirOrder) {
  const Communicators communicators({.ranks = 2});
  runRanks(communicators, [&](int rank) {
    for (int number = 0; number < 100; ++number) {
      const auto count = static_cast<std::size_t>(number);
      if (rank == 0) {
        EXPECT_EQ(send(letter(0, 1, count, number), 1, communicators[0]), rondoSuccess);
      } else {
        std::vector<float> got(count);
        EXPECT_EQ(recv(got, 0, communicators[1]), rondoSuccess);
        EXPECT_EQ(got, letter(0, 1, count, number));
      }
    }
  });
}

/// Everybody sends to everybody, itself included, twice.
void exchangeWithAll(rondoComm_t comm, int ranks, int rank, std::size_t count) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<float>> out(2 * n);
  std::vector<std::vector<float>> in(2 * n, std::vector<float>(count));
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  for (int number = 0; number < 2; ++number) {
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(number) * n + static_cast<std::size_t>(peer);
      out[at] = letter(rank, peer, count, number);
      EXPECT_EQ(send(out[at], peer, comm), rondoSuccess);
      EXPECT_EQ(recv(in[at], peer, comm), rondoSuccess);
    }
  }
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
  for (int number = 0; number < 2; ++number) {
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(number) * n + static_cast<std::size_t>(peer);
      EXPECT_EQ(in[at], letter(peer, rank, count, number)) << rank << " from " << peer;
    }
  }
}

TEST(Groups, EverybodyExchangesWithEverybody) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const Communicators communicators({.ranks = ranks});
    runRanks(communicators, [&](int rank) {
      for (const std::size_t count : {1U, 100U, 40000U})
        exchangeWithAll(communicators[rank], ranks, rank, count);
    });
  }
}

/// Larger than all slots together, so that nobody may wait for one rank while others wait for it.
TEST(Groups, OneThreadDrivesAllRanks) {
  constexpr int kRanks = 5;
  constexpr std::size_t kCount = 200000;
  const Communicators communicators({.ranks = kRanks});
  std::vector<std::vector<float>> in(kRanks, std::vector<float>(kCount));
  std::vector<std::vector<float>> sums(kRanks, std::vector<float>(kCount));
  std::vector<std::vector<float>> out;
  for (int rank = 0; rank < kRanks; ++rank)
    out.push_back(letter(rank, (rank + 2) % kRanks, kCount));
  const std::vector<float> ones(kCount, 1.0F);
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    EXPECT_EQ(send(out[at], (rank + 2) % kRanks, communicators[rank]), rondoSuccess);
    EXPECT_EQ(recv(in[at], (rank + 3) % kRanks, communicators[rank]), rondoSuccess);
    EXPECT_EQ(rondoAllReduce(ones.data(), sums[at].data(), kCount, rondoFloat32, rondoSum,
                             communicators[rank], nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoBarrier(communicators[rank], nullptr), rondoSuccess);
  }
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    EXPECT_EQ(in[at], letter((rank + 3) % kRanks, rank, kCount));
    EXPECT_EQ(sums[at], std::vector<float>(kCount, kRanks));
  }
}

TEST(Groups, AreAboutSeveralCommunicators) {
  const Communicators first({.ranks = 2});
  const Communicators second({.ranks = 2});
  runRanks(first, [&](int rank) {
    std::vector<float> one(3000, static_cast<float>(rank));
    std::vector<float> two(3000, static_cast<float>(10 * rank));
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    // In different orders on the two ranks.
    for (const bool other : {rank == 0, rank != 0}) {
      std::vector<float>& data = other ? two : one;
      EXPECT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32, rondoSum,
                               other ? second[rank] : first[rank], nullptr),
                rondoSuccess);
    }
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(one.back(), 1.0F);
    EXPECT_EQ(two.back(), 10.0F);
  });
}

TEST(Groups, MessagesAndCollectivesDoNotWaitForEachOther) {
  const Communicators communicators({.ranks = 2});
  runRanks(communicators, [&](int rank) {
    std::vector<float> text = letter(0, 1, 200000);
    const std::vector<float> wanted = text;
    std::vector<float> sum(500, 1.0F);
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    if (rank == 0) {
      EXPECT_EQ(send(text, 1, communicators[0]), rondoSuccess);
    }
    EXPECT_EQ(rondoAllReduce(sum.data(), sum.data(), sum.size(), rondoFloat32, rondoSum,
                             communicators[rank], nullptr),
              rondoSuccess);
    if (rank == 1) {
      std::ranges::fill(text, 0.0F);
      EXPECT_EQ(recv(text, 0, communicators[1]), rondoSuccess);
    }
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(text, wanted);
    EXPECT_EQ(sum.front(), 2.0F);
  });
}

TEST(Groups, AreNested) {
  const Communicators alone({.ranks = 1});
  const std::vector<float> text = letter(0, 0, 10);
  std::vector<float> got(10);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(send(text, 0, alone[0]), rondoSuccess);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(recv(got, 0, alone[0]), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
  EXPECT_NE(got, text);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
  EXPECT_EQ(got, text);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("without rondoGroupStart"));
  EXPECT_EQ(rondoGroupCancel(), rondoInvalidUsage);
}

TEST(Groups, OfNothingEnd) {
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
}

TEST(Groups, AFactorMayBeGivenUpBeforeTheGroupEnds) {
  const Communicators alone({.ranks = 1});
  const float factor = 3.0F;
  float value = 2.0F;
  rondoRedOp_t op = rondoSum;
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(
      rondoRedOpCreatePreMulSum(&op, &factor, rondoFloat32, rondoScalarHostImmediate, alone[0]),
      rondoSuccess);
  EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoFloat32, op, alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoRedOpDestroy(op, alone[0]), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
  EXPECT_EQ(value, 6.0F);
}

// What goes wrong in a group.

TEST(GroupErrors, ARefusedCallSpoilsTheGroupAndNothingElse) {
  const Communicators alone(quietSettings(1));
  float value = 5.0F;
  float other = 0.0F;
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoSend(&value, 1, rondoFloat32, 0, alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoRecv(&other, 1, rondoFloat32, 7, alone[0], nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoRecv(&other, 1, rondoFloat32, 0, alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("peer 7 is no rank; pass 0 to 0"));
  EXPECT_EQ(other, 0.0F);
  EXPECT_EQ(rondoBarrier(alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
}

TEST(GroupErrors, AWrongHandleSpoilsTheGroup) {
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoBarrier(nullptr, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
  Communicators alone(quietSettings(1));
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoBarrier(alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(alone.destroy(0), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
}

TEST(GroupErrors, ACancelledGroupDoesNothing) {
  const Communicators alone(quietSettings(1));
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoBarrier(alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupCancel(), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoGroupCancel(), rondoSuccess);
}

TEST(GroupErrors, MessagesToItselfMustFitTogether) {
  const Communicators alone(quietSettings(1));
  float value = 0.0F;
  EXPECT_EQ(rondoSend(&value, 1, rondoFloat32, 0, alone[0], nullptr), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("1 messages to itself, but 0"));
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoSend(&value, 1, rondoFloat32, 0, alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoRecv(&value, 1, rondoInt32, 0, alone[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), AllOf(HasSubstr("float count 1"), HasSubstr("int32")));
  EXPECT_EQ(rondoBarrier(alone[0], nullptr), rondoSuccess);
}

TEST(MessageArguments, AreChecked) {
  const Communicators alone(quietSettings(1));
  float value = 0.0F;
  EXPECT_EQ(rondoSend(nullptr, 1, rondoFloat32, 0, alone[0], nullptr), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(alone[0]), HasSubstr("rank 0 send: send is NULL"));
  EXPECT_EQ(rondoRecv(nullptr, 1, rondoFloat32, 0, alone[0], nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoRecv(&value, 1, static_cast<rondoDataType_t>(99), 0, alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoRecv(reinterpret_cast<char*>(&value) + 1, 1, rondoFloat32, 0, alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoSend(&value, SIZE_MAX, rondoInt8, 0, alone[0], nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoSend(&value, (std::size_t{1} << 56), rondoInt8, 0, alone[0], nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoSend(&value, 1, rondoFloat32, -1, alone[0], nullptr), rondoInvalidArgument);
}

/// What rank 1 gets that receives something else than rank 0 sends, and rank 0 in what follows.
std::vector<Outcome> outcomesOfMismatch(std::size_t sent,
                                        rondoDataType_t sentType,
                                        std::size_t expected,
                                        rondoDataType_t expectedType) {
  const Communicators communicators(quietSettings(2));
  return outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
    std::vector<double> buffer(100000);
    rondoResult_t result = rank == 0
                               ? rondoSend(buffer.data(), sent, sentType, 1, comm, nullptr)
                               : rondoRecv(buffer.data(), expected, expectedType, 0, comm, nullptr);
    if (result == rondoSuccess) result = rondoBarrier(comm, nullptr);
    return result;
  });
}

TEST(MessageErrors, EndsThatDifferAreNamedBoth) {
  constexpr std::size_t kLarge = 90000;

  const struct {
    std::size_t sent;
    rondoDataType_t sentType;
    std::size_t expected;
    rondoDataType_t expectedType;
    const char* first;
    const char* second;
  } kCases[] = {
      {8, rondoFloat32, 9, rondoFloat32, "float count 8", "float count 9"},
      {8, rondoFloat32, 8, rondoInt32, "float count 8", "int32 count 8"},
      {0, rondoFloat32, 8, rondoFloat32, "float count 0", "float count 8"},
      {8, rondoFloat32, 0, rondoFloat32, "float count 8", "float count 0"},
      {kLarge, rondoFloat64, kLarge - 1, rondoFloat64, "count 90000", "count 89999"},
  };

  for (const auto& one : kCases) {
    for (const Outcome& outcome :
         outcomesOfMismatch(one.sent, one.sentType, one.expected, one.expectedType)) {
      EXPECT_EQ(outcome.result, rondoMismatch);
      EXPECT_THAT(outcome.message, AllOf(HasSubstr(one.first), HasSubstr(one.second),
                                         HasSubstr("rank 1 called recv #1 from rank 0"),
                                         HasSubstr("send #1 to rank 1 on rank 0")));
    }
  }
}

TEST(MessageErrors, ASenderThatHasLeftIsNamed) {
  Communicators communicators(quietSettings(2));
  std::string message;
  rondoResult_t result = rondoSuccess;
  runRanks(communicators, [&](int rank) {
    if (rank == 0) {
      EXPECT_EQ(send(letter(0, 1, 5), 1, communicators[0]), rondoSuccess);
      EXPECT_EQ(communicators.destroy(0), rondoSuccess);
      return;
    }
    std::vector<float> got(5);
    EXPECT_EQ(recv(got, 0, communicators[1]), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(got, letter(0, 1, 5));
    result = recv(got, 0, communicators[1]);
    message = rondoGetLastError(communicators[1]);
  });
  EXPECT_EQ(result, rondoPeerLost);
  EXPECT_THAT(message, AllOf(HasSubstr("recv #2 from rank 0 of float count 5"),
                             HasSubstr("has left its communicator without the send #2 to rank 1")));
}

TEST(MessageErrors, ATimeoutSaysWhatThePeerDoes) {
  CommunicatorSettings settings = quietSettings(2);
  settings.operationTimeoutMs = 300;
  const Communicators communicators(settings);
  std::string message;
  rondoResult_t result = rondoSuccess;
  runRanks(communicators, [&](int rank) {
    if (rank == 0) return;
    std::vector<float> got(5);
    result = recv(got, 0, communicators[1]);
    message = rondoGetLastError(communicators[1]);
  });
  EXPECT_EQ(result, rondoTimeout);
  EXPECT_THAT(message,
              AllOf(HasSubstr("rank 1 waited"), HasSubstr("recv #1 from rank 0 of float count 5"),
                    HasSubstr("rank 0 is in no group of messages")));
}

TEST(MessageErrors, AnAbortEndsTheWait) {
  const Communicators communicators(quietSettings(2));
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(rondoCommAbort(communicators[0]), rondoSuccess);
  });
  rondoResult_t result = rondoSuccess;
  runRanks(communicators, [&](int rank) {
    std::vector<float> got(5);
    if (rank == 1) result = recv(got, 0, communicators[1]);
  });
  aborter.join();
  EXPECT_EQ(result, rondoAborted);
}

TEST(GroupErrors, OneThatFailedBeforeEndsTheOthersToo) {
  const Communicators doomed(quietSettings(2));
  const Communicators innocent(quietSettings(2));
  EXPECT_EQ(rondoCommAbort(doomed[0]), rondoSuccess);
  float value = 0.0F;
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(rondoRecv(&value, 1, rondoFloat32, 1, innocent[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoRecv(&value, 1, rondoFloat32, 1, doomed[0], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoAborted);
  EXPECT_EQ(awaitFailure(innocent[1]), rondoAborted) << "it would wait for what does not come";
}

TEST(GroupErrors, ThoseWhoWaitForARefusedGroupLearnWhy) {
  const Communicators communicators(quietSettings(2));
  runRanks(communicators, [&](int rank) {
    float value = 0.0F;
    if (rank == 1) {
      EXPECT_EQ(rondoBarrier(communicators[1], nullptr), rondoMismatch);
      EXPECT_THAT(rondoGetLastError(communicators[1]), HasSubstr("peer 7 is no rank"));
      return;
    }
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoBarrier(communicators[0], nullptr), rondoSuccess);
    EXPECT_EQ(rondoSend(&value, 1, rondoFloat32, 7, communicators[0], nullptr),
              rondoInvalidArgument);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
  });
}

TEST(GroupErrors, ALaterFailureEndsAllThatWereNotDone) {
  const Communicators doomed(quietSettings(2));
  const Communicators innocent(quietSettings(2));
  runRanks(doomed, [&](int rank) {
    std::array<float, 2> values{};
    if (rank == 1) {
      (void)rondoSend(values.data(), 1, rondoFloat32, 0, doomed[1], nullptr);
      EXPECT_EQ(rondoBarrier(innocent[1], nullptr), rondoMismatch);
      EXPECT_THAT(rondoGetLastError(innocent[1]), HasSubstr("the group that its calls"));
      return;
    }
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoRecv(&values[0], 1, rondoFloat32, 1, innocent[0], nullptr), rondoSuccess);
    EXPECT_EQ(rondoRecv(values.data(), 2, rondoFloat32, 1, doomed[0], nullptr), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoMismatch);
  });
}

}  // namespace
}  // namespace rondo::testing
