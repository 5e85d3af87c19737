// Streams on host memory: calls return before they are complete, keep their order across streams,
// and end well when streams, communicators or calls do not.
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

/// One thread issues for all ranks, so a call that waited would never end: this ends it.
CommunicatorSettings settingsOf(int ranks) {
  CommunicatorSettings settings;
  settings.ranks = ranks;
  settings.operationTimeoutMs = 60000;
  settings.logLevel = "error";
  return settings;
}

class Streams : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 1000;

  rondoResult_t sum(std::vector<int>& data, rondoComm_t comm, rondoStream_t stream) {
    return rondoAllReduce(data.data(), data.data(), data.size(), rondoInt32, rondoSum, comm,
                          stream);
  }

  Communicators comms_{settingsOf(2)};
  Stream streams_[2];
};

TEST_F(Streams, CallsReturnBeforeOthersJoin) {
  std::vector<int> first(kCount, 1);
  std::vector<int> second(kCount, 0);
  ASSERT_EQ(sum(first, comms_[0], streams_[0]), rondoSuccess);
  EXPECT_EQ(rondoStreamQuery(streams_[0]), rondoInProgress);
  // The other rank's input is made only now: nothing of the call can be complete.
  std::ranges::fill(second, 41);
  ASSERT_EQ(sum(second, comms_[1], streams_[1]), rondoSuccess);
  for (const Stream& stream : streams_)
    EXPECT_EQ(rondoStreamSynchronize(stream), rondoSuccess);
  EXPECT_EQ(first, std::vector<int>(kCount, 42));
  EXPECT_EQ(second, first);
  EXPECT_EQ(rondoStreamQuery(streams_[0]), rondoSuccess);
}

TEST_F(Streams, OneCommunicatorKeepsItsOrderAcrossStreamsAndNone) {
  const Stream more[2];
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 1)};
  // Each call works on the result of the one before, which is on the other stream.
  for (int round = 0; round < 20; ++round) {
    for (int rank = 0; rank < 2; ++rank)
      ASSERT_EQ(sum(data[rank], comms_[rank], round % 2 == 0 ? streams_[rank] : more[rank]),
                rondoSuccess);
  }
  std::thread other([&] { EXPECT_EQ(sum(data[1], comms_[1], nullptr), rondoSuccess); });
  EXPECT_EQ(sum(data[0], comms_[0], nullptr), rondoSuccess);
  // No stream was waited for.
  EXPECT_EQ(data[0], std::vector<int>(kCount, 1 << 21));
  other.join();
  EXPECT_EQ(data[1], data[0]);
}

TEST_F(Streams, HundredsOfCallsWait) {
  constexpr int kCalls = 500;
  std::vector<std::vector<int>> data(2 * kCalls);
  for (int rank = 0; rank < 2; ++rank) {
    for (int call = 0; call < kCalls; ++call) {
      std::vector<int>& own = data[static_cast<std::size_t>(2 * call + rank)];
      own.assign(static_cast<std::size_t>(call), call + rank);
      ASSERT_EQ(sum(own, comms_[rank], streams_[rank]), rondoSuccess);
      ASSERT_EQ(rondoBarrier(comms_[rank], streams_[rank]), rondoSuccess);
    }
    // Rank 1 has issued nothing when rank 0 has issued everything.
    EXPECT_TRUE(rank == 1 || rondoStreamQuery(streams_[0]) == rondoInProgress);
  }
  for (const Stream& stream : streams_)
    ASSERT_EQ(rondoStreamSynchronize(stream), rondoSuccess);
  for (int call = 0; call < kCalls; ++call) {
    const std::vector<int> expected(static_cast<std::size_t>(call), 2 * call + 1);
    EXPECT_EQ(data[static_cast<std::size_t>(2 * call)], expected);
    EXPECT_EQ(data[static_cast<std::size_t>(2 * call + 1)], expected);
  }
}

TEST_F(Streams, WaitForEvents) {
  const Communicators later(settingsOf(2));
  const Event done;
  const Stream more[2];
  EXPECT_EQ(rondoEventQuery(done.handle()), rondoSuccess);  // never recorded
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  done.record(streams_[0]);
  EXPECT_FALSE(done.complete());
  more[0].wait(done);
  // On another communicator: only the event keeps it from working on the input as it was.
  ASSERT_EQ(sum(data[0], later[0], more[0]), rondoSuccess);
  ASSERT_EQ(sum(data[1], comms_[1], streams_[1]), rondoSuccess);
  ASSERT_EQ(rondoStreamSynchronize(streams_[1]), rondoSuccess);
  done.synchronize();
  EXPECT_TRUE(done.complete());
  EXPECT_EQ(data[0], std::vector<int>(kCount, 3));  // rank 1 of `later` has not called
  ASSERT_EQ(sum(data[1], later[1], more[1]), rondoSuccess);
  for (const Stream& stream : more)
    stream.synchronize();
  EXPECT_EQ(data[0], std::vector<int>(kCount, 6));
}

TEST_F(Streams, AnEventMayGoBeforeWhatItIsFor) {
  std::vector<int> data(kCount, 1);
  std::vector<int> other(kCount, 2);
  {
    const Event done;
    ASSERT_EQ(sum(data, comms_[0], streams_[0]), rondoSuccess);
    done.record(streams_[0]);
    streams_[1].wait(done);
  }
  ASSERT_EQ(sum(other, comms_[1], nullptr), rondoSuccess);
  streams_[1].synchronize();
  EXPECT_EQ(data, std::vector<int>(kCount, 3));
}

TEST_F(Streams, DifferentOrdersOnDifferentStreamsAreSafe) {
  const Communicators others(settingsOf(2));
  const Stream more[2];
  std::vector<int> one[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  std::vector<int> two[2] = {std::vector<int>(kCount, 3), std::vector<int>(kCount, 4)};
  ASSERT_EQ(sum(one[0], comms_[0], streams_[0]), rondoSuccess);
  ASSERT_EQ(sum(two[0], others[0], more[0]), rondoSuccess);
  ASSERT_EQ(sum(two[1], others[1], more[1]), rondoSuccess);
  for (const Stream& stream : more)
    stream.synchronize();
  EXPECT_EQ(two[0], std::vector<int>(kCount, 7));
  ASSERT_EQ(sum(one[1], comms_[1], streams_[1]), rondoSuccess);
  for (const Stream& stream : streams_)
    stream.synchronize();
  EXPECT_EQ(one[0], std::vector<int>(kCount, 3));
}

TEST_F(Streams, DestroyFlushesTheCommunicator) {
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  for (int call = 0; call < 3; ++call)
    ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  std::thread destroyer([&] {
    EXPECT_EQ(comms_.destroy(0), rondoSuccess);
    EXPECT_EQ(data[0], std::vector<int>(kCount, 12));
  });
  for (int call = 0; call < 3; ++call)
    ASSERT_EQ(sum(data[1], comms_[1], streams_[1]), rondoSuccess);
  destroyer.join();
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[1]), rondoSuccess);
  EXPECT_EQ(data[1], std::vector<int>(kCount, 12));
}

TEST_F(Streams, FinalizeFlushesAndRefusesLaterCalls) {
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  ASSERT_EQ(sum(data[1], comms_[1], streams_[1]), rondoSuccess);
  ASSERT_EQ(rondoCommFinalize(comms_[0]), rondoSuccess);
  EXPECT_EQ(data[0], std::vector<int>(kCount, 3));
  streams_[1].synchronize();
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoInvalidUsage);
}

TEST_F(Streams, AStreamMayGoBeforeItsCommunicator) {
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  {
    const Stream brief[2];
    for (int rank = 0; rank < 2; ++rank)
      ASSERT_EQ(sum(data[rank], comms_[rank], brief[rank]), rondoSuccess);
  }
  EXPECT_EQ(data[0], std::vector<int>(kCount, 3));
  for (int rank = 0; rank < 2; ++rank)
    ASSERT_EQ(sum(data[rank], comms_[rank], streams_[rank]), rondoSuccess);
  for (const Stream& stream : streams_)
    stream.synchronize();
  EXPECT_EQ(data[1], std::vector<int>(kCount, 6));
}

TEST_F(Streams, AbortDoesNotWait) {
  std::vector<int> data(kCount, 1);
  for (int call = 0; call < 3; ++call)
    ASSERT_EQ(sum(data, comms_[0], streams_[0]), rondoSuccess);
  ASSERT_EQ(rondoCommAbort(comms_[0]), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoAborted);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoSuccess);  // told once
  rondoResult_t failure = rondoSuccess;
  ASSERT_EQ(rondoCommGetAsyncError(comms_[0], &failure), rondoSuccess);
  EXPECT_EQ(failure, rondoAborted);
  EXPECT_EQ(comms_.destroy(0), rondoSuccess);
}

/// What was issued on a communicator that is gone must not wait for it, nor touch it.
TEST_F(Streams, AnAbortedCommunicatorGoesWhileItsCallsStandBehindAnother) {
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  std::vector<int> lost(kCount, 1);
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  {
    const Communicators aborted(settingsOf(2));
    ASSERT_EQ(sum(lost, aborted[0], streams_[0]), rondoSuccess);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(sum(lost, aborted[0], streams_[0]), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    aborted.abort();
  }
  EXPECT_EQ(rondoStreamQuery(streams_[0]), rondoInProgress);
  ASSERT_EQ(sum(data[1], comms_[1], nullptr), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoAborted);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("was destroyed"));
  EXPECT_EQ(data[0], std::vector<int>(kCount, 3));
}

TEST_F(Streams, ErrorsOfArgumentsAreToldAtOnce) {
  std::vector<int> data(kCount, 1);
  EXPECT_EQ(
      rondoAllReduce(nullptr, data.data(), kCount, rondoInt32, rondoSum, comms_[0], streams_[0]),
      rondoInvalidArgument);
  EXPECT_EQ(rondoSend(data.data(), kCount, rondoInt32, 2, comms_[0], streams_[0]),
            rondoInvalidArgument);
  EXPECT_EQ(rondoStreamQuery(streams_[0]), rondoSuccess);
}

TEST_F(Streams, ErrorsAtRunTimeAreToldBySynchronize) {
  std::vector<int> data[2] = {std::vector<int>(10, 1), std::vector<int>(11, 1)};
  for (int rank = 0; rank < 2; ++rank)
    ASSERT_EQ(sum(data[rank], comms_[rank], streams_[rank]), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoMismatch);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("11"));
  EXPECT_EQ(rondoStreamQuery(streams_[0]), rondoSuccess);
  while (rondoStreamQuery(streams_[1]) == rondoInProgress)  // 60 s at most: the calls' time-out
    std::this_thread::yield();
  for (int look = 0; look < 2; ++look)
    EXPECT_EQ(rondoStreamQuery(streams_[1]), rondoMismatch);
  EXPECT_EQ(rondoStreamSynchronize(streams_[1]), rondoMismatch);
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoMismatch);
}

TEST_F(Streams, HandlesOfOtherKindsAreRefused) {
  std::vector<int> data(kCount, 1);
  rondoStream_t gone = nullptr;
  ASSERT_EQ(rondoStreamCreate(&gone), rondoSuccess);
  ASSERT_EQ(rondoStreamDestroy(gone), rondoSuccess);
  EXPECT_EQ(sum(data, comms_[0], gone), rondoInvalidUsage);
  EXPECT_EQ(rondoStreamSynchronize(gone), rondoInvalidUsage);
  EXPECT_EQ(rondoStreamDestroy(gone), rondoInvalidUsage);
  // As CUDA's are: pointers, and small numbers for its default streams.
  for (void* const other : {static_cast<void*>(&data), static_cast<void*>(comms_[0]),
                            reinterpret_cast<void*>(1), reinterpret_cast<void*>(2)}) {
    const auto stream = static_cast<rondoStream_t>(other);
    EXPECT_EQ(sum(data, comms_[0], stream), rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comms_[0]), HasSubstr("rank 0 all_reduce"));
    EXPECT_EQ(rondoStreamQuery(stream), rondoInvalidArgument);
    EXPECT_EQ(rondoStreamDestroy(stream), rondoInvalidArgument);
    EXPECT_EQ(rondoEventRecord(static_cast<rondoEvent_t>(other), streams_[0]),
              rondoInvalidArgument);
  }
  EXPECT_EQ(rondoStreamCreate(nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoEventCreate(nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoEventQuery(nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoStreamDestroy(nullptr), rondoSuccess);
  EXPECT_EQ(rondoStreamSynchronize(nullptr), rondoSuccess);
}

TEST_F(Streams, GroupsGoOnTheStreamsOfTheirCalls) {
  std::vector<int> out[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  std::vector<int> in[2] = {std::vector<int>(kCount), std::vector<int>(kCount)};
  std::vector<int> sums[2] = {std::vector<int>(kCount, 3), std::vector<int>(kCount, 4)};
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(
        rondoSend(out[rank].data(), kCount, rondoInt32, 1 - rank, comms_[rank], streams_[rank]),
        rondoSuccess);
    ASSERT_EQ(
        rondoRecv(in[rank].data(), kCount, rondoInt32, 1 - rank, comms_[rank], streams_[rank]),
        rondoSuccess);
    ASSERT_EQ(sum(sums[rank], comms_[rank], streams_[rank]), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_TRUE(rank == 1 || rondoStreamQuery(streams_[0]) == rondoInProgress);
  }
  for (const Stream& stream : streams_)
    ASSERT_EQ(rondoStreamSynchronize(stream), rondoSuccess);
  EXPECT_EQ(in[0], out[1]);
  EXPECT_EQ(in[1], out[0]);
  EXPECT_EQ(sums[0], std::vector<int>(kCount, 7));
  EXPECT_EQ(sums[1], sums[0]);
}

TEST_F(Streams, OneGroupMayBeAboutStreamsAndNone) {
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  ASSERT_EQ(sum(data[1], comms_[1], nullptr), rondoSuccess);
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
  EXPECT_EQ(data[1], std::vector<int>(kCount, 3));
  streams_[0].synchronize();
  EXPECT_EQ(data[0], data[1]);

  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  ASSERT_EQ(sum(data[0], comms_[0], streams_[0]), rondoSuccess);
  EXPECT_EQ(sum(data[0], comms_[0], streams_[1]), rondoInvalidUsage);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  EXPECT_EQ(data[0], data[1]);
}

TEST_F(Streams, SingleMessagesAreIssued) {
  const std::vector<int> out(kCount, 5);
  std::vector<int> in(kCount);
  ASSERT_EQ(rondoRecv(in.data(), kCount, rondoInt32, 0, comms_[1], streams_[1]), rondoSuccess);
  EXPECT_EQ(rondoStreamQuery(streams_[1]), rondoInProgress);
  ASSERT_EQ(rondoSend(out.data(), kCount, rondoInt32, 1, comms_[0], nullptr), rondoSuccess);
  streams_[1].synchronize();
  EXPECT_EQ(in, out);
}

TEST_F(Streams, ForkedChildrenAreRefused) {
  const Event event;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool right = rondoStreamSynchronize(streams_[0]) == rondoInvalidUsage &&
                       rondoEventRecord(event.handle(), nullptr) == rondoInvalidUsage &&
                       rondoStreamDestroy(streams_[0]) == rondoSuccess &&
                       rondoEventDestroy(event.handle()) == rondoSuccess;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(rondoStreamSynchronize(streams_[0]), rondoSuccess);
}

TEST(StreamsInCpp, CommunicatorsIssueOnThem) {
  const std::vector<Communicator> ranks = Communicator::createAll(2);
  const Stream stream;
  std::vector<float> own(100, 1);
  std::vector<float> other(100, 2);
  ranks[0].on(stream).allReduce(own);
  EXPECT_FALSE(stream.complete());
  ranks[1].allReduce(other);
  stream.synchronize();
  EXPECT_TRUE(stream.complete());
  EXPECT_EQ(own, std::vector<float>(100, 3));
  EXPECT_EQ(own, other);
}

}  // namespace
}  // namespace rondo::testing
