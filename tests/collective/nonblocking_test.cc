// Communicators whose calls do not wait: one thread makes and drives all ranks, which would end at
// the first call that waited; and what they tell while work goes on, when it is done, and when it
// failed.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kCount = 3000;

rondoConfig_t configWithoutWaits() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.logLevel = "error";
  config.operationTimeoutMs = 60000;
  config.initTimeoutMs = 60000;
  return config;
}

rondoResult_t stateOf(rondoComm_t comm) {
  rondoResult_t state = rondoInternalError;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
  return state;
}

/// As a program asks that has something else to do: until the work is over.
rondoResult_t awaitState(rondoComm_t comm) {
  rondoResult_t state = stateOf(comm);
  for (; state == rondoInProgress; state = stateOf(comm))
    std::this_thread::yield();
  return state;
}

rondoResult_t sum(std::vector<int>& data, rondoComm_t comm, rondoStream_t stream = nullptr) {
  return rondoAllReduce(data.data(), data.data(), data.size(), rondoInt32, rondoSum, comm, stream);
}

/// Ranks that are threads by construction: nobody is waited for to make them.
class Ready : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  Ready() {
    const rondoConfig_t config = configWithoutWaits();
    EXPECT_EQ(rondoCommInitAll(comms_, kRanks, &config), rondoSuccess);
    for (int rank = 0; rank < kRanks; ++rank)
      data_[rank].assign(kCount, 1 << rank);
  }

  ~Ready() override {
    for (rondoComm_t comm : comms_)
      (void)rondoCommAbort(comm);
    for (rondoComm_t comm : comms_)
      (void)rondoCommDestroy(comm);
  }

  void synchronizeAll() {
    for (rondoComm_t comm : comms_)
      EXPECT_EQ(rondoCommSynchronize(comm), rondoSuccess) << rondoGetLastError(comm);
  }

  rondoComm_t comms_[kRanks] = {};
  std::vector<int> data_[kRanks];
};

TEST_F(Ready, CallsAreInProgressUntilAllHaveCalled) {
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(stateOf(comms_[rank]), rondoSuccess);
  ASSERT_EQ(sum(data_[0], comms_[0]), rondoInProgress);
  ASSERT_EQ(sum(data_[1], comms_[1]), rondoInProgress);
  EXPECT_EQ(stateOf(comms_[0]), rondoInProgress);
  EXPECT_EQ(stateOf(comms_[2]), rondoSuccess);  // it has nothing to do
  ASSERT_EQ(sum(data_[2], comms_[2]), rondoInProgress);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(awaitState(comms_[rank]), rondoSuccess);
    EXPECT_EQ(data_[rank], std::vector<int>(kCount, 7));
  }
}

TEST_F(Ready, SeveralCallsKeepTheirOrder) {
  constexpr int kCalls = 40;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int call = 0; call < kCalls; ++call) {
      ASSERT_EQ(rondoBroadcast(data_[rank].data(), data_[rank].data(), kCount, rondoInt32,
                               call % kRanks, comms_[rank], nullptr),
                rondoInProgress);
    }
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);
  }
  synchronizeAll();
  for (const std::vector<int>& data : data_)
    EXPECT_EQ(data, std::vector<int>(kCount, kRanks));
}

TEST_F(Ready, StreamsAndNoneKeepOneOrder) {
  const Stream streams[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(sum(data_[rank], comms_[rank], streams[rank]), rondoSuccess);
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);
    ASSERT_EQ(sum(data_[rank], comms_[rank], streams[rank]), rondoSuccess);
  }
  synchronizeAll();
  for (const Stream& stream : streams)
    stream.synchronize();
  for (const std::vector<int>& data : data_)
    EXPECT_EQ(data, std::vector<int>(kCount, 63));
}

TEST_F(Ready, GroupsGoOnInTheCommunicatorsThreads) {
  std::vector<int> got[kRanks];
  for (std::vector<int>& one : got)
    one.resize(kCount);
  std::vector<int> sums[kRanks];
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    sums[rank] = data_[rank];
    ASSERT_EQ(rondoSend(data_[rank].data(), kCount, rondoInt32, (rank + 1) % kRanks, comms_[rank],
                        nullptr),
              rondoSuccess);
    ASSERT_EQ(rondoRecv(got[rank].data(), kCount, rondoInt32, (rank + kRanks - 1) % kRanks,
                        comms_[rank], nullptr),
              rondoSuccess);
    ASSERT_EQ(sum(sums[rank], comms_[rank]), rondoSuccess);
  }
  ASSERT_EQ(rondoGroupEnd(), rondoInProgress);
  synchronizeAll();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(got[rank], data_[(rank + kRanks - 1) % kRanks]);
    EXPECT_EQ(sums[rank], std::vector<int>(kCount, 7));
  }
}

TEST_F(Ready, MessagesByThemselvesDoNotWait) {
  std::vector<int> got(kCount);
  ASSERT_EQ(rondoRecv(got.data(), kCount, rondoInt32, 2, comms_[0], nullptr), rondoInProgress);
  EXPECT_EQ(stateOf(comms_[0]), rondoInProgress);
  ASSERT_EQ(rondoSend(data_[2].data(), kCount, rondoInt32, 0, comms_[2], nullptr), rondoInProgress);
  EXPECT_EQ(rondoCommSynchronize(comms_[0]), rondoSuccess);
  EXPECT_EQ(got, data_[2]);
}

TEST_F(Ready, WrongArgumentsAreToldAtOnceAndHarmNobody) {
  EXPECT_EQ(rondoBroadcast(nullptr, nullptr, kCount, rondoInt32, 7, comms_[1], nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(stateOf(comms_[1]), rondoSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);
  synchronizeAll();
}

/// A group that is refused as a whole is refused at its end, with nothing in progress.
TEST_F(Ready, ARefusedGroupLeavesNothingInProgress) {
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  ASSERT_EQ(sum(data_[0], comms_[0]), rondoSuccess);
  EXPECT_EQ(rondoSend(data_[0].data(), 1, rondoInt32, 9, comms_[0], nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
  EXPECT_EQ(stateOf(comms_[0]), rondoSuccess);
}

/// That two ends do not fit is found later, and lost is the call alone: it is told once.
TEST_F(Ready, AFailureOfACallAloneIsToldOnce) {
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  ASSERT_EQ(rondoSend(data_[0].data(), 2, rondoInt32, 0, comms_[0], nullptr), rondoSuccess);
  ASSERT_EQ(rondoRecv(data_[0].data(), 3, rondoInt32, 0, comms_[0], nullptr), rondoSuccess);
  ASSERT_EQ(rondoGroupEnd(), rondoInProgress);
  EXPECT_EQ(awaitState(comms_[0]), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(comms_[0]), HasSubstr("message to itself"));
  EXPECT_EQ(stateOf(comms_[0]), rondoSuccess);
}

TEST_F(Ready, AFailureOfTheCommunicatorLasts) {
  std::vector<int> other(kCount + 1);
  ASSERT_EQ(sum(data_[0], comms_[0]), rondoInProgress);
  ASSERT_EQ(sum(other, comms_[1]), rondoInProgress);
  ASSERT_EQ(sum(data_[2], comms_[2]), rondoInProgress);
  for (rondoComm_t comm : comms_) {
    EXPECT_EQ(rondoCommSynchronize(comm), rondoMismatch);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr(std::to_string(kCount + 1)));
    EXPECT_EQ(stateOf(comm), rondoMismatch);
  }
}

TEST_F(Ready, AnAbortEndsWhatIsInProgress) {
  ASSERT_EQ(sum(data_[0], comms_[0]), rondoInProgress);
  ASSERT_EQ(rondoBarrier(comms_[0], nullptr), rondoInProgress);
  ASSERT_EQ(rondoCommAbort(comms_[1]), rondoSuccess);
  EXPECT_EQ(rondoCommSynchronize(comms_[0]), rondoAborted);
  EXPECT_EQ(stateOf(comms_[2]), rondoAborted);
}

TEST_F(Ready, FinalizingIsInProgressToo) {
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);
    ASSERT_EQ(rondoCommFinalize(comms_[rank]), rondoInProgress);
  }
  synchronizeAll();
  EXPECT_EQ(data_[0], std::vector<int>(kCount, 7));
  EXPECT_EQ(rondoBarrier(comms_[0], nullptr), rondoInProgress);
  EXPECT_EQ(rondoCommSynchronize(comms_[0]), rondoInvalidUsage);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("finalized"));
}

TEST_F(Ready, DestroyingWaitsForWhatIsInProgress) {
  for (int rank = 0; rank < kRanks; ++rank)
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);
  for (rondoComm_t& comm : comms_)
    ASSERT_EQ(rondoCommDestroy(comm), rondoSuccess);
  for (const std::vector<int>& data : data_)
    EXPECT_EQ(data, std::vector<int>(kCount, 7));
}

TEST_F(Ready, OneThreadSplitsThem) {
  rondoComm_t parts[kRanks] = {};
  const int colors[kRanks] = {0, RONDO_NO_COLOR, 0};
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(rondoCommSplit(comms_[rank], colors[rank], -rank, &parts[rank], nullptr),
              rondoInProgress);
    ASSERT_EQ(sum(data_[rank], comms_[rank]), rondoInProgress);  // behind it
  }
  EXPECT_EQ(parts[1], nullptr);
  synchronizeAll();
  EXPECT_EQ(data_[0], std::vector<int>(kCount, 7));
  for (const int rank : {0, 2}) {
    ASSERT_EQ(rondoCommSynchronize(parts[rank]), rondoSuccess) << rondoGetLastError(parts[rank]);
    int own = -1;
    EXPECT_EQ(rondoCommRank(parts[rank], &own), rondoSuccess);
    EXPECT_EQ(own, rank == 2 ? 0 : 1);  // by key
    ASSERT_EQ(sum(data_[rank], parts[rank]), rondoInProgress);
  }
  for (const int rank : {0, 2}) {
    EXPECT_EQ(rondoCommSynchronize(parts[rank]), rondoSuccess);
    EXPECT_EQ(data_[rank], std::vector<int>(kCount, 14));
    EXPECT_EQ(rondoCommDestroy(parts[rank]), rondoSuccess);
  }
}

/// Ranks that wait beside ranks that do not: how a rank calls is its own affair.
TEST(WithoutWaits, IsEachRanksOwnChoice) {
  const rondoConfig_t patient = RONDO_CONFIG_INITIALIZER;
  rondoUniqueId_t id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  const rondoConfig_t config = configWithoutWaits();
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoCommInitRank(&comm, 2, id, 0, &config), rondoInProgress);
  std::vector<int> data(kCount, 1);
  std::thread other([&] {
    rondoComm_t own = nullptr;
    std::vector<int> mine(kCount, 2);
    ASSERT_EQ(rondoCommInitRank(&own, 2, id, 1, &patient), rondoSuccess);
    EXPECT_EQ(sum(mine, own), rondoSuccess);
    EXPECT_EQ(mine, std::vector<int>(kCount, 3));
    EXPECT_EQ(rondoCommDestroy(own), rondoSuccess);
  });
  EXPECT_EQ(rondoCommSynchronize(comm), rondoSuccess);
  EXPECT_EQ(sum(data, comm), rondoInProgress);
  EXPECT_EQ(rondoCommSynchronize(comm), rondoSuccess);
  EXPECT_EQ(data, std::vector<int>(kCount, 3));
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  other.join();
}

TEST(MadeWithoutWaits, OneThreadMakesAllRanks) {
  constexpr int kRanks = 3;
  rondoUniqueId_t id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  const rondoConfig_t config = configWithoutWaits();
  rondoComm_t comms[kRanks] = {};
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(rondoCommInitRank(&comms[rank], kRanks, id, rank, &config), rondoInProgress);
    int count = -1;
    // The last one may be ready at once.
    if (rank < kRanks - 1) {
      EXPECT_EQ(stateOf(comms[rank]), rondoInProgress);
      EXPECT_EQ(rondoCommCount(comms[rank], &count), rondoInvalidUsage);
      EXPECT_THAT(rondoGetLastError(comms[rank]), HasSubstr("still being made"));
      EXPECT_EQ(rondoBarrier(comms[rank], nullptr), rondoInvalidUsage);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(awaitState(comms[rank]), rondoSuccess) << rondoGetLastError(comms[rank]);
    int own = -1;
    EXPECT_EQ(rondoCommRank(comms[rank], &own), rondoSuccess);
    EXPECT_EQ(own, rank);
  }
  std::vector<int> data[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    data[rank].assign(kCount, rank);
    ASSERT_EQ(sum(data[rank], comms[rank]), rondoInProgress);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(rondoCommSynchronize(comms[rank]), rondoSuccess);
    EXPECT_EQ(data[rank], std::vector<int>(kCount, 3));
    ASSERT_EQ(rondoCommFinalize(comms[rank]), rondoInProgress);
  }
  for (rondoComm_t comm : comms) {
    EXPECT_EQ(rondoCommSynchronize(comm), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }
}

TEST(MadeWithoutWaits, WrongArgumentsAreToldAtOnce) {
  rondoUniqueId_t id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  rondoConfig_t config = configWithoutWaits();
  rondoComm_t comm = nullptr;
  EXPECT_EQ(rondoCommInitRank(&comm, 2, id, 2, &config), rondoInvalidArgument);
  EXPECT_EQ(rondoCommInitRank(nullptr, 2, id, 0, &config), rondoInvalidArgument);
  config.blocking = 2;
  EXPECT_EQ(rondoCommInitRank(&comm, 2, id, 0, &config), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("blocking"));
  EXPECT_EQ(comm, nullptr);
}

/// The time-out is short, the peer never comes: the handle tells why it was not made, and only
/// serves to be destroyed.
/// Begins to make rank 0 of 2, whose other one never comes.
void beginAlone(rondoComm_t& comm, std::int64_t initTimeoutMs) {
  rondoUniqueId_t id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  rondoConfig_t config = configWithoutWaits();
  config.initTimeoutMs = initTimeoutMs;
  ASSERT_EQ(rondoCommInitRank(&comm, 2, id, 0, &config), rondoInProgress);
}

TEST(MadeWithoutWaits, WhyItWasNotMadeIsToldAsOftenAsAsked) {
  rondoComm_t comm = nullptr;
  ASSERT_NO_FATAL_FAILURE(beginAlone(comm, 50));
  EXPECT_EQ(rondoCommSynchronize(comm), rondoTimeout);
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(stateOf(comm), rondoTimeout);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("rank 1"));
  }
  EXPECT_EQ(rondoBarrier(comm, nullptr), rondoInvalidUsage);
  EXPECT_THAT(rondoGetLastError(comm), HasSubstr("was not made"));
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

/// Nobody will ever come, and the time-out is a minute: these end because they are told to.
TEST(MadeWithoutWaits, AnAbortEndsTheMaking) {
  rondoComm_t comm = nullptr;
  ASSERT_NO_FATAL_FAILURE(beginAlone(comm, 3600000));
  EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
  EXPECT_EQ(stateOf(comm), rondoAborted);
  EXPECT_EQ(rondoCommSynchronize(comm), rondoAborted);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(MadeWithoutWaits, DestroyingEndsTheMaking) {
  rondoComm_t comm = nullptr;
  ASSERT_NO_FATAL_FAILURE(beginAlone(comm, 3600000));
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(comm), rondoInvalidUsage);
}

TEST(WithoutWaits, TheCppInterfaceTellsToo) {
  std::vector<Communicator> ranks = Communicator::createAll(2, configWithoutWaits());
  std::vector<int> data[2] = {std::vector<int>(kCount, 1), std::vector<int>(kCount, 2)};
  ranks[0].allReduce(data[0]);
  EXPECT_FALSE(ranks[0].complete());
  ranks[1].allReduce(data[1]);
  for (const Communicator& rank : ranks) {
    rank.synchronize();
    EXPECT_TRUE(rank.complete());
  }
  EXPECT_EQ(data[0], std::vector<int>(kCount, 3));
  ranks[0].barrier();
  ranks[1].abort();
  EXPECT_THROW(ranks[0].synchronize(), Error);
}

/// Calls of communicators that wait are as they always were.
TEST(WithWaits, NothingIsEverInProgress) {
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoCommInitAll(&comm, 1, nullptr), rondoSuccess);
  EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
  EXPECT_EQ(stateOf(comm), rondoSuccess);
  EXPECT_EQ(rondoCommSynchronize(comm), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  EXPECT_EQ(rondoCommSynchronize(comm), rondoInvalidUsage);
  EXPECT_EQ(rondoCommSynchronize(nullptr), rondoInvalidArgument);
}

}  // namespace
}  // namespace rondo::testing
