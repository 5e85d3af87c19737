// Tags of messages: the k-th with a tag is the k-th with that tag, in whatever order the two ends
// send and receive; and what ranks are told when a message was refused at the other end.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
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
using ::testing::Not;

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

std::vector<int> letter(int from, int tag, int number, std::size_t count) {
  std::vector<int> text(count);
  std::iota(text.begin(), text.end(), 1000000 * from + 10000 * tag + 100 * number);
  return text;
}

rondoResult_t send(const std::vector<int>& text, int peer, int tag, rondoComm_t comm) {
  return rondoSendTagged(text.data(), text.size(), rondoInt32, peer, tag, comm, nullptr);
}

rondoResult_t recv(std::vector<int>& text, int peer, int tag, rondoComm_t comm) {
  return rondoRecvTagged(text.data(), text.size(), rondoInt32, peer, tag, comm, nullptr);
}

/// Each call by itself, received in the reverse order: all but the last are put aside, also those
/// that are larger than all slots of a connection together.
TEST(Tags, OfSingleCallsMatchInAnyOrder) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{300000}}) {
    const Communicators communicators({.ranks = 2});
    constexpr int kTags = 4;
    runRanks(communicators, [&](int rank) {
      for (int tag = 0; tag < kTags; ++tag) {
        if (rank == 0) {
          ASSERT_EQ(send(letter(0, tag, 0, count), 1, tag, communicators[0]), rondoSuccess);
        } else {
          const int wanted = kTags - 1 - tag;
          std::vector<int> got(count);
          ASSERT_EQ(recv(got, 0, wanted, communicators[1]), rondoSuccess)
              << rondoGetLastError(communicators[1]);
          EXPECT_EQ(got, letter(0, wanted, 0, count));
        }
      }
    });
  }
}

/// Of one tag the order of calls counts, whatever lies between.
TEST(Tags, OfOneTagKeepTheirOrder) {
  const Communicators communicators({.ranks = 2});
  constexpr int kMessages = 20;
  constexpr std::size_t kCount = 1000;
  runRanks(communicators, [&](int rank) {
    if (rank == 0) {
      for (int number = 0; number < kMessages; ++number) {
        for (const int tag : {7, RONDO_MAX_TAG})
          ASSERT_EQ(send(letter(0, tag, number, kCount), 1, tag, communicators[0]), rondoSuccess);
      }
      return;
    }
    for (const int tag : {RONDO_MAX_TAG, 7}) {
      for (int number = 0; number < kMessages; ++number) {
        std::vector<int> got(kCount);
        ASSERT_EQ(recv(got, 0, tag, communicators[1]), rondoSuccess);
        EXPECT_EQ(got, letter(0, tag, number, kCount));
      }
    }
  });
}

/// All to all in one group, each rank in a random order of its own; sizes differ by tag.
TEST(Tags, OfAGroupMatchInAnyOrder) {
  constexpr int kRanks = 3;
  constexpr int kTags = 5;
  const Communicators communicators({.ranks = kRanks});
  runRanks(communicators, [&](int rank) {
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    for (int round = 0; round < 10; ++round) {
      struct Message {
        int peer;
        int tag;
        bool sends;
        std::vector<int> data;
      };
      std::vector<Message> messages;
      for (int peer = 0; peer < kRanks; ++peer) {
        for (int tag = 0; tag < kTags; ++tag) {
          const auto count = static_cast<std::size_t>(tag * tag * 1500);
          messages.push_back({peer, tag, true, letter(rank, tag, peer, count)});
          messages.push_back({peer, tag, false, std::vector<int>(count)});
        }
      }
      std::ranges::shuffle(messages, random);
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      for (Message& message : messages) {
        ASSERT_EQ(message.sends
                      ? send(message.data, message.peer, message.tag, communicators[rank])
                      : recv(message.data, message.peer, message.tag, communicators[rank]),
                  rondoSuccess);
      }
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(communicators[rank]);
      for (const Message& message : messages) {
        if (!message.sends) {
          EXPECT_EQ(message.data, letter(message.peer, message.tag, rank, message.data.size()));
        }
      }
    }
  });
}

/// One group against single calls in another order, and a collective between.
TEST(Tags, MatchAcrossGroups) {
  const Communicators communicators({.ranks = 2});
  constexpr std::size_t kCount = 50000;
  runRanks(communicators, [&](int rank) {
    if (rank == 0) {
      Group group;
      std::vector<std::vector<int>> texts;
      for (int tag = 0; tag < 3; ++tag)
        texts.push_back(letter(0, tag, 0, kCount));
      for (int tag = 0; tag < 3; ++tag)
        ASSERT_EQ(send(texts[static_cast<std::size_t>(tag)], 1, tag, communicators[0]),
                  rondoSuccess);
      group.end();
      ASSERT_EQ(rondoBarrier(communicators[0], nullptr), rondoSuccess);
      return;
    }
    for (const int tag : {2, 0, 1}) {
      std::vector<int> got(kCount);
      ASSERT_EQ(recv(got, 0, tag, communicators[1]), rondoSuccess);
      EXPECT_EQ(got, letter(0, tag, 0, kCount));
    }
    ASSERT_EQ(rondoBarrier(communicators[1], nullptr), rondoSuccess);
  });
}

TEST(TagErrors, AWaitNamesTheTagAndWhatWasPutAside) {
  CommunicatorSettings settings = quietSettings(2);
  settings.operationTimeoutMs = 300;
  const Communicators communicators(settings);
  std::string message;
  runRanks(communicators, [&](int rank) {
    std::vector<int> data(5);
    if (rank == 0) {
      (void)send(data, 1, 31, communicators[0]);
      return;
    }
    EXPECT_EQ(recv(data, 0, 12, communicators[1]), rondoTimeout);
    message = rondoGetLastError(communicators[1]);
  });
  EXPECT_THAT(message, AllOf(HasSubstr("recv #1 from rank 0 of int32 count 5 tag 12"),
                             HasSubstr("put aside since tags differ: int32 count 5 tag 31")));
}

TEST(TagErrors, EndsOfOneTagThatDifferAreNamed) {
  for (const bool aside : {false, true}) {
    const Communicators communicators(quietSettings(2));
    runRanks(communicators, [&](int rank) {
      std::vector<int> data(10);
      if (rank == 0) {
        EXPECT_EQ(send(letter(0, 3, 0, 10), 1, 3, communicators[0]), rondoSuccess);
        if (aside) (void)send(data, 1, 4, communicators[0]);
        return;
      }
      if (aside) {
        EXPECT_EQ(recv(data, 0, 4, communicators[1]), rondoSuccess);
      }
      data.resize(11);
      EXPECT_EQ(recv(data, 0, 3, communicators[1]), rondoMismatch);
      EXPECT_THAT(rondoGetLastError(communicators[1]),
                  AllOf(HasSubstr("count 11 tag 3"), HasSubstr("count 10 tag 3")));
    });
  }
}

TEST(TagErrors, ArgumentsAreChecked) {
  const Communicators communicators(quietSettings(1));
  std::vector<int> data(1);
  for (const int tag : {-1, RONDO_MAX_TAG + 1}) {
    EXPECT_EQ(send(data, 0, tag, communicators[0]), rondoInvalidArgument);
    EXPECT_EQ(recv(data, 0, tag, communicators[0]), rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(communicators[0]), HasSubstr("tag " + std::to_string(tag)));
  }
}

// Messages that are refused at one end.

/// By itself, in a group, and on a stream behind work that needs the other rank.
TEST(RefusedMessage, IsToldToWhoWaitsForIt) {
  for (const int way : {0, 1, 2}) {
    const Communicators communicators(quietSettings(2));
    std::string message;
    runRanks(communicators, [&](int rank) {
      std::vector<int> data(10);
      if (rank == 1) {
        if (way == 2) {
          EXPECT_EQ(rondoBarrier(communicators[1], nullptr), rondoSuccess);
        }
        EXPECT_EQ(recv(data, 0, 0, communicators[1]), rondoMismatch) << way;
        message = rondoGetLastError(communicators[1]);
        return;
      }
      const Stream stream;
      if (way == 2) {
        ASSERT_EQ(rondoBarrier(communicators[0], stream), rondoSuccess);
      }
      if (way == 1) {
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      }
      EXPECT_EQ(rondoSend(nullptr, 10, rondoInt32, 1, communicators[0],
                          way == 2 ? stream.handle() : nullptr),
                rondoInvalidArgument);
      if (way == 1) {
        ASSERT_EQ(rondoGroupEnd(), rondoInvalidArgument);
      }
    });
    EXPECT_THAT(message,
                AllOf(HasSubstr("rank 0 rejected its messages"), HasSubstr("send is NULL")))
        << way;
  }
}

TEST(RefusedMessage, MayBeSentAgain) {
  const Communicators communicators(quietSettings(2));
  runRanks(communicators, [&](int rank) {
    std::vector<int> data = letter(rank, 0, 0, 10);
    if (rank == 0) {
      EXPECT_EQ(rondoSend(nullptr, 10, rondoInt32, 1, communicators[0], nullptr),
                rondoInvalidArgument);
      EXPECT_EQ(send(data, 1, 0, communicators[0]), rondoSuccess);
    } else {
      EXPECT_EQ(recv(data, 0, 0, communicators[1]), rondoSuccess)
          << rondoGetLastError(communicators[1]);
      EXPECT_EQ(data, letter(0, 0, 0, 10));
    }
  });
}

/// Who waits for somebody else's message is not concerned.
TEST(RefusedMessage, ConcernsItsOtherEndOnly) {
  CommunicatorSettings settings = quietSettings(3);
  settings.operationTimeoutMs = 1600;
  const Communicators communicators(settings);
  runRanks(communicators, [&](int rank) {
    std::vector<int> data(10);
    if (rank == 0) {
      EXPECT_EQ(rondoSend(nullptr, 10, rondoInt32, 1, communicators[0], nullptr),
                rondoInvalidArgument);
    } else if (rank == 2) {
      EXPECT_EQ(recv(data, 0, 0, communicators[2]), rondoTimeout);
      EXPECT_THAT(rondoGetLastError(communicators[2]), Not(HasSubstr("rejected")));
    }
  });
}

/// A call that is refused behind work on a stream takes its place behind that work.
TEST(RefusedBehindAStream, IsToldToWhoWaitsForIt) {
  for (const bool onStream : {false, true}) {
    const Communicators communicators(quietSettings(2));
    runRanks(communicators, [&](int rank) {
      std::vector<int> data(10, rank);
      if (rank == 1) {
        for (int call = 0; call < 2; ++call)
          ASSERT_EQ(rondoBarrier(communicators[1], nullptr), rondoSuccess);
        EXPECT_EQ(rondoAllReduce(data.data(), data.data(), 10, rondoInt32, rondoSum,
                                 communicators[1], nullptr),
                  rondoMismatch);
        EXPECT_THAT(rondoGetLastError(communicators[1]),
                    AllOf(HasSubstr("rank 0 rejected its call #3"), HasSubstr("recv is NULL")));
        return;
      }
      const Stream stream;
      for (int call = 0; call < 2; ++call)
        ASSERT_EQ(rondoBarrier(communicators[0], stream), rondoSuccess);
      // Neither has begun for sure: the refusal must not wait for them.
      EXPECT_EQ(rondoAllReduce(data.data(), nullptr, 10, rondoInt32, rondoSum, communicators[0],
                               onStream ? stream.handle() : nullptr),
                rondoInvalidArgument);
      stream.synchronize();
    });
  }
}

}  // namespace
}  // namespace rondo::testing
