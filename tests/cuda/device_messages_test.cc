// Messages from rank to rank on emulated GPUs, by the C API: ranks with a GPU each, and ranks that
// share one; what goes wrong, and who is told.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "src/cuda/driver.h"
#include "tests/cuda/device_team.h"
#include "tests/cuda/driver_double/controls.h"

namespace rondo::testing {
namespace {

using cuda::Stream;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Floats = std::unique_ptr<DeviceFloats>;

/// What rank `from` sends to rank `to` as its message number `number`.
std::vector<float> letter(int from, int to, std::size_t count, int number = 0) {
  std::vector<float> text(count);
  std::iota(text.begin(), text.end(), static_cast<float>(1000 * from + 100 * to + 10 * number));
  return text;
}

Floats room(std::size_t count) {
  auto floats = std::make_unique<DeviceFloats>(count + 1);
  floats->fill(-1.0F);
  return floats;
}

Floats holding(const std::vector<float>& text) {
  Floats floats = room(text.size());
  std::ranges::copy(text, floats->data());
  return floats;
}

std::vector<float> read(Floats& floats, std::size_t count) {
  std::vector<float> all = floats->values();
  EXPECT_EQ(all[count], -1.0F) << "written behind the end";
  all.resize(count);
  return all;
}

rondoResult_t send(Floats& from, std::size_t count, int peer, rondoComm_t comm, Stream stream) {
  return rondoSend(from->data(), count, rondoFloat32, peer, comm, stream);
}

rondoResult_t recv(Floats& to, std::size_t count, int peer, rondoComm_t comm, Stream stream) {
  return rondoRecv(to->data(), count, rondoFloat32, peer, comm, stream);
}

rondoResult_t failureOf(rondoComm_t comm) {
  rondoResult_t failure = rondoSuccess;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &failure), rondoSuccess);
  return failure;
}

/// Waits until the communicator has failed.
rondoResult_t awaitFailure(rondoComm_t comm) {
  for (int look = 0; look < 2000 && failureOf(comm) == rondoSuccess; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  return failureOf(comm);
}

/// The receive that is under way fails: so says the communicator, and the next receive; the kernel
/// has ended, so that the stream goes on.
void expectFailed(
    rondoResult_t how, Floats& target, std::size_t count, rondoComm_t comm, Stream stream) {
  EXPECT_EQ(awaitFailure(comm), how);
  EXPECT_EQ(recv(target, count, 0, comm, stream), how);
  EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
}

rondoConfig_t impatient() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 700;
  config.logLevel = "error";
  return config;
}

class DeviceMessages : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(DeviceMessages, GoFromRankToRank) {
  for (const std::size_t count : {0U, 1U, 1000U, 100000U}) {
    Team team(GetParam());
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      // The others do not take part.
      if (rank == 0) {
        Floats text = holding(letter(0, 1, count));
        EXPECT_EQ(send(text, count, 1, comm, stream), rondoSuccess) << rondoGetLastError(comm);
        EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      } else if (rank == 1) {
        Floats got = room(count);
        EXPECT_EQ(recv(got, count, 0, comm, stream), rondoSuccess) << rondoGetLastError(comm);
        EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
        EXPECT_EQ(read(got, count), letter(0, 1, count));
      }
    });
  }
}

/// Everybody sends to everybody, itself included, several times; nobody waits in between.
void exchangeWithAll(
    rondoComm_t comm, int ranks, int rank, std::size_t count, int groups, Stream stream) {
  std::vector<Floats> out;
  std::vector<Floats> in;
  for (int number = 0; number < groups; ++number) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int peer = 0; peer < ranks; ++peer) {
      out.push_back(holding(letter(rank, peer, count, number)));
      in.push_back(room(count));
      EXPECT_EQ(send(out.back(), count, peer, comm, stream), rondoSuccess);
      EXPECT_EQ(recv(in.back(), count, peer, comm, stream), rondoSuccess);
    }
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
  }
  ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
  for (int number = 0; number < groups; ++number) {
    for (int peer = 0; peer < ranks; ++peer) {
      Floats& got = in[static_cast<std::size_t>(number * ranks + peer)];
      EXPECT_EQ(read(got, count), letter(peer, rank, count, number)) << rank << " from " << peer;
    }
  }
}

/// More groups than there are places for their tables.
TEST_P(DeviceMessages, EverybodyExchangesWithEverybody) {
  Team team(GetParam());
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, team.ranks(), rank, 100, 20, stream);
    exchangeWithAll(comm, team.ranks(), rank, 70000, 2, stream);
  });
}

TEST_P(DeviceMessages, MayBeManyInOneGroup) {
  constexpr int kMessages = 500;
  Team team(GetParam());
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    if (rank > 1) return;
    const int peer = 1 - rank;
    std::vector<Floats> out;
    std::vector<Floats> in;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int number = 0; number < kMessages; ++number) {
      const auto count = static_cast<std::size_t>(number % 5);
      out.push_back(holding(letter(rank, peer, count, number)));
      in.push_back(room(count));
      EXPECT_EQ(send(out.back(), count, peer, comm, stream), rondoSuccess);
      EXPECT_EQ(recv(in.back(), count, peer, comm, stream), rondoSuccess);
    }
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    for (int number = 0; number < kMessages; ++number) {
      const auto count = static_cast<std::size_t>(number % 5);
      EXPECT_EQ(read(in[static_cast<std::size_t>(number)], count),
                letter(peer, rank, count, number));
    }
  });
}

TEST_P(DeviceMessages, AndCollectivesFollowEachOther) {
  Team team(GetParam());
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    const int ranks = team.ranks();
    DeviceFloats sum(50);
    sum.fill(1.0F);
    Floats out = holding(letter(rank, 0, 60000));
    Floats in = room(60000);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      EXPECT_EQ(rondoAllReduce(sum.data(), sum.data(), 50, rondoFloat32, rondoMax, comm, stream),
                rondoSuccess);
      EXPECT_EQ(send(out, 60000, (rank + 1) % ranks, comm, stream), rondoSuccess);
      EXPECT_EQ(recv(in, 60000, (rank + ranks - 1) % ranks, comm, stream), rondoSuccess);
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
      ASSERT_EQ(rondoAllReduce(sum.data(), sum.data(), 50, rondoFloat32, rondoMax, comm, stream),
                rondoSuccess);
    }
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(read(in, 60000), letter((rank + ranks - 1) % ranks, 0, 60000));
    EXPECT_EQ(sum.values(), std::vector<float>(50, 1.0F));
  });
}

TEST_P(DeviceMessages, OfSeveralTagsMatchInAGroup) {
  Team team(GetParam());
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    if (rank > 1) return;
    std::array<Floats, 3> text;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int place = 0; place < 3; ++place) {
      const int tag = rank == 0 ? place : 2 - place;
      Floats& one = text[static_cast<std::size_t>(tag)];
      one = rank == 0 ? holding(letter(0, 1, 100, tag)) : room(100);
      EXPECT_EQ(rank == 0 ? rondoSendTagged(one->data(), 100, rondoFloat32, 1, tag, comm, stream)
                          : rondoRecvTagged(one->data(), 100, rondoFloat32, 0, tag, comm, stream),
                rondoSuccess);
    }
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    for (int tag = 0; tag < 3; ++tag)
      EXPECT_EQ(read(text[static_cast<std::size_t>(tag)], 100), letter(0, 1, 100, tag));
  });
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         DeviceMessages,
                         ::testing::Values(std::vector<int>{0, 1, 2},
                                           std::vector<int>{0, 0, 0},
                                           std::vector<int>{0, 1, 0, 1}));

TEST(DeviceMessage, OfNothingNeedsNoBuffer) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    const rondoResult_t made = rank == 0 ? rondoSend(nullptr, 0, rondoFloat32, 1, comm, stream)
                                         : rondoRecv(nullptr, 0, rondoFloat32, 0, comm, stream);
    EXPECT_EQ(made, rondoSuccess) << rondoGetLastError(comm);
  });
}

TEST(DeviceMessage, ToItselfIsACopy) {
  Team team({0});
  team.run([&](int /*rank*/, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 1, 0, 1001, 3, stream);
    Floats text = holding(letter(0, 0, 10));
    EXPECT_EQ(send(text, 10, 0, comm, stream), rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("1 messages to itself, but 0 from itself"));
  });
}

TEST(DeviceMessage, GoesWithoutPeerAccessThroughTheHost) {
  rondoDoublePeerAccess(0);
  {
    Team team({0, 1});
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      exchangeWithAll(comm, 2, rank, 40000, 2, stream);
    });
  }
  rondoDoublePeerAccess(1);
}

/// Sends to all of `peers` and receives from them, in one group.
void exchangeWith(const std::vector<int>& peers, int rank, rondoComm_t comm, Stream stream) {
  constexpr std::size_t kCount = 100;
  std::vector<Floats> in;
  std::vector<Floats> out;
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (const int peer : peers) {
    out.push_back(holding(letter(rank, peer, kCount)));
    in.push_back(room(kCount));
    EXPECT_EQ(send(out.back(), kCount, peer, comm, stream), rondoSuccess);
    EXPECT_EQ(recv(in.back(), kCount, peer, comm, stream), rondoSuccess);
  }
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
  ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
  for (std::size_t place = 0; place < peers.size(); ++place)
    EXPECT_EQ(read(in[place], kCount), letter(peers[place], rank, kCount));
}

/// Rank 0 meets both others at once, rank 1 comes to rank 2 only after that, as rank 2 to rank 0:
/// without the warm-up they would wait for each other.
TEST(DeviceMessage, OfDifferentGroupsEndOnceThePairsWereWarmedUp) {
  Team team({0, 1, 2});
  const std::vector<std::pair<int, int>> pairs = {{0, 1}, {0, 2}, {1, 2}};
  const std::vector<std::vector<std::vector<int>>> groups = {{{1, 2}}, {{0}, {2}}, {{1}, {0}}};
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    for (const auto& [one, other] : pairs) {
      if (rank != one && rank != other) continue;
      const int peer = rank == one ? other : one;
      ASSERT_EQ(rondoCommWarmUp(comm, "send", 1, rondoFloat32, rondoSum, peer), rondoSuccess)
          << rondoGetLastError(comm);
    }
    for (const std::vector<int>& peers : groups[static_cast<std::size_t>(rank)])
      exchangeWith(peers, rank, comm, stream);
  });
}

TEST(DeviceMessage, CanBeWarmedUp) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    ASSERT_EQ(
        rondoCommWarmUp(comm, rank == 0 ? "send" : "recv", 10, rondoFloat32, rondoSum, 1 - rank),
        rondoSuccess)
        << rondoGetLastError(comm);
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
  });
}

TEST(DeviceMessage, OfCommunicatorsThatDoNotWait) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  Team team({0, 1}, &config);
  std::array<Stream, 2> streams{};
  std::array<Floats, 2> text;
  for (int rank = 0; rank < 2; ++rank) {
    const OnDevice on(rank);
    const auto at = static_cast<std::size_t>(rank);
    ASSERT_EQ(driver().streamCreate(&streams[at], cuda::kStreamNonBlocking), cuda::kSuccess);
    text[at] = rank == 0 ? holding(letter(0, 1, 500)) : room(500);
    EXPECT_EQ(rank == 0 ? send(text[at], 500, 1, team.comm(0), streams[at])
                        : recv(text[at], 500, 0, team.comm(1), streams[at]),
              rondoInProgress);
  }
  for (int rank = 0; rank < 2; ++rank) {
    const OnDevice on(rank);
    const auto at = static_cast<std::size_t>(rank);
    EXPECT_EQ(rondoCommSynchronize(team.comm(rank)), rondoSuccess);
    EXPECT_EQ(driver().streamSynchronize(streams[at]), cuda::kSuccess);
    EXPECT_EQ(driver().streamDestroy(streams[at]), cuda::kSuccess);
  }
  EXPECT_EQ(read(text[1], 500), letter(0, 1, 500));
  text = {};
}

// What can be wrong.

TEST(DeviceMessageErrors, EndsThatDifferAreNamedBoth) {
  rondoConfig_t config = impatient();
  Team team({0, 1}, &config);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    Floats text = room(100);
    EXPECT_EQ(rank == 0 ? send(text, 100, 1, comm, stream) : recv(text, 99, 0, comm, stream),
              rondoSuccess);
    if (rank == 0) {
      EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      return;
    }
    expectFailed(rondoMismatch, text, 99, comm, stream);
    EXPECT_THAT(rondoGetLastError(comm),
                AllOf(HasSubstr("recv #1 from rank 0 of float count 99"),
                      HasSubstr("the send #1 to rank 1 on rank 0 is of float count 100")));
  });
}

TEST(DeviceMessageErrors, AFirstMessageThatNobodySendsTimesOut) {
  rondoConfig_t config = impatient();
  Team team({0, 1}, &config);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    if (rank == 0) return;
    Floats text = room(100);
    EXPECT_EQ(recv(text, 100, 0, comm, stream), rondoTimeout);
    EXPECT_THAT(rondoGetLastError(comm), AllOf(HasSubstr("rank 1 waited"),
                                               HasSubstr("recv #1 from rank 0 of float count 100"),
                                               HasSubstr("rank 0 is in no group of messages")));
  });
}

TEST(DeviceMessageErrors, ALaterOneToo) {
  rondoConfig_t config = impatient();
  Team team({0, 1}, &config);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
    if (rank == 0) return;
    Floats text = room(100);
    EXPECT_EQ(recv(text, 100, 0, comm, stream), rondoSuccess);
    expectFailed(rondoTimeout, text, 100, comm, stream);
    EXPECT_THAT(rondoGetLastError(comm),
                AllOf(HasSubstr("recv #2 from rank 0 of float count 100"),
                      HasSubstr("rank 0 is in no group of messages (it has finished 1 so far)")));
  });
}

TEST(DeviceMessageErrors, APeerThatHasLeftIsNamed) {
  rondoConfig_t config = impatient();
  config.operationTimeoutMs = 20000;
  const std::vector<int> devices = {0, 1};
  std::array<rondoComm_t, 2> comms{};
  ASSERT_EQ(rondoCommInitAllOnDevices(comms.data(), 2, devices.data(), &config), rondoSuccess);
  std::thread other([&] {
    const OnDevice on(0);
    TestStream stream;
    exchangeWithAll(comms[0], 2, 0, 10, 1, stream.get());
    EXPECT_EQ(rondoCommDestroy(comms[0]), rondoSuccess);
  });
  {
    const OnDevice on(1);
    TestStream stream;
    exchangeWithAll(comms[1], 2, 1, 10, 1, stream.get());
    other.join();
    Floats text = room(100);
    EXPECT_EQ(recv(text, 100, 0, comms[1], stream.get()), rondoSuccess);
    EXPECT_EQ(awaitFailure(comms[1]), rondoPeerLost);
    stream.synchronize();
  }
  EXPECT_EQ(rondoCommDestroy(comms[1]), rondoSuccess);
}

TEST(DeviceMessageErrors, AnAbortEndsTheKernel) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
    if (rank == 0) return;
    Floats text = room(100);
    EXPECT_EQ(recv(text, 100, 0, comm, stream), rondoSuccess);
    EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
    EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(failureOf(comm), rondoAborted);
  });
}

TEST(DeviceMessageErrors, ARefusedEndIsToldToTheOther) {
  rondoConfig_t config = impatient();
  config.operationTimeoutMs = 20000;
  Team team({0, 1}, &config);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
    if (rank == 0) {
      std::vector<float> onHost(100);
      EXPECT_EQ(rondoSend(onHost.data(), 100, rondoFloat32, 1, comm, stream), rondoInvalidArgument);
      EXPECT_THAT(rondoGetLastError(comm), HasSubstr("host memory"));
      EXPECT_EQ(awaitFailure(comm), rondoMismatch);
      return;
    }
    Floats text = room(100);
    EXPECT_EQ(recv(text, 100, 0, comm, stream), rondoSuccess);
    expectFailed(rondoMismatch, text, 100, comm, stream);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("rejected its messages"));
  });
}

TEST(DeviceMessageErrors, TwoRanksOfADeviceMayNotShareAStream) {
  rondoConfig_t config = impatient();
  Team team({0, 0}, &config);
  const OnDevice on(0);
  TestStream shared;
  std::atomic<bool> sent = false;
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
    Floats text = room(100);
    if (rank == 0) {
      EXPECT_EQ(recv(text, 100, 1, comm, shared.get()), rondoSuccess);
      sent = true;
      EXPECT_NE(awaitFailure(comm), rondoSuccess);
      EXPECT_EQ(driver().streamSynchronize(shared.get()), cuda::kSuccess);
      return;
    }
    while (!sent)
      std::this_thread::yield();
    EXPECT_EQ(send(text, 100, 0, comm, shared.get()), rondoInvalidUsage);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("give each rank a stream of its own"));
    EXPECT_NE(awaitFailure(comm), rondoSuccess);
  });
}

TEST(DeviceMessageErrors, MessagesCannotBeCaptured) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
    Floats text = room(10);
    rondoDoubleBeginCapture(stream);
    EXPECT_EQ(send(text, 10, 1 - rank, comm, stream), rondoNotSupported);
    rondoDoubleEndCapture(stream);
  });
}

TEST(DeviceMessageErrors, AGroupsMessagesAreOnOneStream) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    TestStream other;
    Floats text = room(10);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(send(text, 10, 1 - rank, comm, stream), rondoSuccess);
    EXPECT_EQ(recv(text, 10, 1 - rank, comm, other.get()), rondoInvalidUsage);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    exchangeWithAll(comm, 2, rank, 10, 1, stream);
  });
}

}  // namespace
}  // namespace rondo::testing
