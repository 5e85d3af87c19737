// Buffers that a program has registered, over the double: adapters read what is sent where it is,
// nothing of it once it is the program's again, and results are right.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/transport/transport_team.h"
#include "tests/transport/verbs_rank.h"
#include "tests/verbs/impatient.h"
#include "tests/verbs/verbs_double/controls.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr SlotShape kSlots{4096, 4};

/// Of the slots that follow, what adapters read in `memory` and elsewhere.
void countReads(std::span<const std::byte> memory) {
  rondoVerbsCountReads(memory.data(), memory.size());
}

/// Rank 0 sends to rank 1 what lies in a buffer of its program's.
class SentBufferTest : public ::testing::Test {
 protected:
  SentBufferTest()
      : team_(impatientKind(), 2, kSlots),
        send_(*team_[0].connect(0, 1, 0), 1),
        recv_(*team_[1].connect(0, 1, 0), 0) {
    for (std::size_t at = 0; at < buffer_.size(); ++at)
      buffer_[at] = static_cast<std::byte>(at * 7);
  }

  ~SentBufferTest() override {
    rondoVerbsFailCall(nullptr, 0, 0);
    rondoVerbsSetPort("rdma0", 1);
  }

  /// A slot of `bytes` bytes, from its own memory.
  void passSlot(std::size_t bytes = kSlots.bytes) {
    ASSERT_TRUE(send_.slotFree());
    std::fill_n(send_.slot(), bytes, std::byte{9});
    send_.post({bytes, 1});
    ASSERT_TRUE(team_.progressUntil([&] { return recv_.slotFull(); }));
    EXPECT_EQ(std::count(recv_.payload(), recv_.payload() + bytes, std::byte{9}),
              static_cast<std::ptrdiff_t>(bytes));
    recv_.release();
    ASSERT_TRUE(team_.progressUntil([&] { return team_[0].taken(); }));
  }

  /// Posts what the buffer holds from `offset` on.
  void postFrom(std::size_t offset, std::size_t bytes) {
    const auto place = send_.nameOf(buffer_.data() + offset, bytes);
    ASSERT_TRUE(place.has_value());
    ASSERT_TRUE(send_.slotFree());
    send_.postElsewhere({bytes, 2}, *place);
  }

  /// Posts it and has it received.
  void passFrom(std::size_t offset, std::size_t bytes) {
    postFrom(offset, bytes);
    ASSERT_TRUE(team_.progressUntil([&] { return recv_.slotFull(); }));
    EXPECT_EQ(recv_.entry().bytes, bytes);
    EXPECT_EQ(recv_.entry().call, 2U);
    ASSERT_TRUE(recv_.beginRead());
    EXPECT_TRUE(std::equal(recv_.payload(), recv_.payload() + bytes, buffer_.data() + offset));
    EXPECT_FALSE(send_.settled());
    recv_.release();
    ASSERT_TRUE(team_.progressUntil([&] { return send_.settled(); }));
  }

  bool isNamed(std::size_t offset, std::size_t bytes) {
    return send_.nameOf(buffer_.data() + offset, bytes).has_value();
  }

  /// What rank 1 gets from now on, if anything, for as long as an adapter may try.
  bool anythingArrives() {
    const Deadline deadline = Deadline::within(std::chrono::milliseconds{1000});
    while (!deadline.passed()) {
      (void)team_[0].progress();
      (void)team_[1].progress();
      if (recv_.slotFull()) return true;
      std::this_thread::sleep_for(std::chrono::microseconds{500});
    }
    return false;
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(3 * kSlots.bytes);
  TransportTeam team_;
  SendEnd send_;
  RecvEnd recv_;
};

TEST_F(SentBufferTest, IsReadWhereItIs) {
  EXPECT_FALSE(isNamed(0, 10)) << "nothing is registered";
  team_[0].registerMemory(5, buffer_);
  EXPECT_FALSE(isNamed(0, 10)) << "what is posted before it is connected may take a detour";
  passSlot();
  countReads(buffer_);
  for (int round = 0; round < 3; ++round) {
    passFrom(0, kSlots.bytes);
    passFrom(kSlots.bytes + 1, kSlots.bytes - 1);
    passFrom(buffer_.size() - 5, 5);
  }
  EXPECT_EQ(rondoVerbsReadsInside(), 3 * (2 * kSlots.bytes + 4));
  EXPECT_EQ(rondoVerbsReadsOutside(), 0U);
  passSlot();
  EXPECT_EQ(rondoVerbsReadsOutside(), kSlots.bytes);
  team_[0].deregisterMemory(5);
}

TEST_F(SentBufferTest, IsKnownByItsBounds) {
  passSlot();
  team_[0].registerMemory(5, std::span(buffer_).subspan(100, 200));
  EXPECT_TRUE(isNamed(100, 200) && isNamed(299, 1) && isNamed(300, 0));
  EXPECT_FALSE(isNamed(99, 10) || isNamed(100, 201) || isNamed(299, 2) || isNamed(301, 0));
  // Others may overlap it, and remain when it is given up.
  team_[0].registerMemory(6, std::span(buffer_).subspan(0, 150));
  EXPECT_TRUE(isNamed(0, 150));
  team_[0].deregisterMemory(5);
  EXPECT_TRUE(isNamed(100, 50));
  EXPECT_FALSE(isNamed(150, 1));
  team_[0].deregisterMemory(7);
  team_[0].deregisterMemory(6);
  EXPECT_FALSE(isNamed(0, 1));
}

/// Connections take turns over the two adapters of the double.
TEST_F(SentBufferTest, IsRegisteredOnceWithEachAdapter) {
  SendEnd other(*team_[0].connect(0, 1, 1), 1);
  RecvEnd otherEnd(*team_[1].connect(0, 1, 1), 0);
  passSlot();
  const int before = rondoVerbsRegions();
  team_[0].registerMemory(5, buffer_);
  EXPECT_EQ(rondoVerbsRegions(), before + 2);
  ASSERT_TRUE(
      team_.progressUntil([&] { return other.nameOf(buffer_.data(), kSlots.bytes).has_value(); }));
  const int sent = rondoVerbsRequests("rdma1");
  other.postElsewhere({kSlots.bytes, 3}, *other.nameOf(buffer_.data(), kSlots.bytes));
  ASSERT_TRUE(team_.progressUntil([&] { return otherEnd.slotFull(); }));
  EXPECT_TRUE(std::equal(otherEnd.payload(), otherEnd.payload() + kSlots.bytes, buffer_.data()));
  EXPECT_GT(rondoVerbsRequests("rdma1"), sent);
  otherEnd.release();
  ASSERT_TRUE(team_.progressUntil([&] { return other.settled(); }));
  team_[0].deregisterMemory(5);
  EXPECT_EQ(rondoVerbsRegions(), before);
}

/// The first call fails, of the second adapter's none: connections by that one do not copy.
TEST_F(SentBufferTest, IsCopiedWhereAnAdapterDoesNotTakeIt) {
  passSlot();
  SendEnd other(*team_[0].connect(0, 1, 1), 1);
  RecvEnd otherEnd(*team_[1].connect(0, 1, 1), 0);
  rondoVerbsFailCall("ibv_reg_mr", 1, ENOMEM);
  ::testing::internal::CaptureStderr();
  team_[0].registerMemory(5, buffer_);
  rondoVerbsFailCall("ibv_reg_mr", 0, ENOMEM);
  team_[0].registerMemory(6, std::span(buffer_).subspan(1));
  rondoVerbsFailCall(nullptr, 0, 0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("registered buffer"), HasSubstr("is copied first"),
                         HasSubstr("rdma0 does not register 12288 bytes"), HasSubstr("memlock"),
                         HasSubstr("ulimit -l unlimited")));
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << "said once: " << log;
  EXPECT_FALSE(isNamed(0, 10));
  EXPECT_TRUE(team_.progressUntil([&] { return other.nameOf(buffer_.data(), 10).has_value(); }));
  passSlot();
  team_[0].deregisterMemory(5);
  team_[0].deregisterMemory(6);
}

/// What the program stores over its buffer after an operation has failed must never arrive as if it
/// had been sent.
TEST_F(SentBufferTest, IsNotReadAnyMoreOnceWithdrawn) {
  passSlot();
  team_[0].registerMemory(5, buffer_);
  rondoVerbsSetPort("rdma0", 0);
  postFrom(0, kSlots.bytes);
  ASSERT_TRUE(team_[0].progress().ok());  // the adapter has it, and cannot send it now
  postFrom(kSlots.bytes, kSlots.bytes);   // the adapter does not have it yet
  EXPECT_TRUE(send_.withdraw());
  EXPECT_TRUE(send_.withdraw());
  team_[0].deregisterMemory(5);
  countReads(buffer_);
  std::ranges::fill(buffer_, std::byte{0});
  rondoVerbsSetPort("rdma0", 1);
  EXPECT_FALSE(anythingArrives());
  EXPECT_EQ(rondoVerbsReadsInside(), 0U);
  EXPECT_TRUE(team_[0].taken() && team_[0].flushed()) << "nothing can cross any more";
  EXPECT_FALSE(isNamed(0, 10));
  team_[0].close();
}

TEST_F(SentBufferTest, WithdrawingLeavesAloneWhatIsNotReadAnyMore) {
  passSlot();
  team_[0].registerMemory(5, buffer_);
  postFrom(0, kSlots.bytes);
  ASSERT_TRUE(team_.progressUntil([&] { return recv_.slotFull() && team_[0].flushed(); }));
  EXPECT_FALSE(send_.settled());
  EXPECT_TRUE(send_.withdraw());
  recv_.release();
  EXPECT_TRUE(team_.progressUntil([&] { return send_.settled(); })) << "the way is still there";
  passSlot();
}

TEST_F(SentBufferTest, MayBeGivenUpWhenThePeerHasDied) {
  passSlot();
  team_[0].registerMemory(5, buffer_);
  rondoVerbsSetPort("rdma0", 0);
  postFrom(0, kSlots.bytes);
  ASSERT_TRUE(team_[0].progress().ok());
  team_.end(1);
  ASSERT_TRUE(team_.progressUntil([&] { return !team_[0].whyLost(1).empty(); }));
  team_[0].deregisterMemory(5);
  countReads(buffer_);
  std::ranges::fill(buffer_, std::byte{0});
  rondoVerbsSetPort("rdma0", 1);
  for (int turn = 0; turn < 200; ++turn)
    ASSERT_TRUE(team_[0].progress().ok());
  EXPECT_EQ(rondoVerbsReadsInside(), 0U);
}

TEST_F(SentBufferTest, ThatIsStillRegisteredEndsWithItsTransport) {
  const int before = rondoVerbsRegions();
  passSlot();
  team_[0].registerMemory(5, buffer_);
  rondoVerbsSetPort("rdma0", 0);
  postFrom(0, kSlots.bytes);
  ASSERT_TRUE(team_[0].progress().ok());
  team_.end(0);
  EXPECT_LT(rondoVerbsRegions(), before);
}

// By communicators, whose ranks are threads that meet as processes do.

/// Several chunks of a slot each for every rank.
constexpr std::size_t kElements = std::size_t{1} << 19;

/// One block of memory that the buffers of all ranks are parts of.
class RegisteredCallsTest : public ::testing::TestWithParam<int> {
 protected:
  RegisteredCallsTest() {
    // NOLINTBEGIN(concurrency-mt-unsafe): the ranks' threads do not call it
    ::setenv("RONDOTEST_MEET", "1", 1);
    ::setenv("RONDO_TRANSPORT", "verbs", 1);
    // NOLINTEND(concurrency-mt-unsafe)
  }

  ~RegisteredCallsTest() override {
    // NOLINTBEGIN(concurrency-mt-unsafe): the ranks' threads do not call it
    ::unsetenv("RONDOTEST_MEET");
    ::unsetenv("RONDO_TRANSPORT");
    // NOLINTEND(concurrency-mt-unsafe)
  }

  int ranks() const { return GetParam(); }

  std::size_t blocks() const { return static_cast<std::size_t>(ranks()); }

  /// The buffers of `rank`: input, and output with room for a block of each.
  std::span<float> input(int rank) {
    return std::span(memory_).subspan(static_cast<std::size_t>(rank) * rankElems(), kElements);
  }

  std::span<float> output(int rank) {
    return std::span(memory_).subspan(static_cast<std::size_t>(rank) * rankElems() + kElements,
                                      kElements * blocks());
  }

  std::size_t rankElems() const { return kElements * (1 + blocks()); }

  static float valueOf(int rank, int round, std::size_t at) {
    return static_cast<float>((at + static_cast<std::size_t>(13 * rank + 5 * round)) % 251);
  }

  void fillInput(std::span<float> to, int rank, int round) {
    for (std::size_t at = 0; at < to.size(); ++at)
      to[at] = valueOf(rank, round, at);
  }

  /// `call` on all ranks, for several rounds; from the second on all that is sent is read in the
  /// buffers, which are spoiled as soon as a call returns.
  void expectNoCopies(const std::function<rondoResult_t(rondoComm_t, int rank, int round)>& call,
                      const std::function<int(int rank, int round)>& wrong) {
    CommunicatorSettings settings = quietSettings(ranks());
    settings.algorithm = "all_reduce:two_shot";  // others send sums that lie in no buffer
    Communicators communicators(settings);
    for (int round = 0; round < 4; ++round) {
      if (round == 1) countReads(std::as_bytes(std::span(memory_)));
      const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
        rondoRegistration_t registration = nullptr;
        const std::span<float> own(input(rank).data(), rankElems());
        rondoResult_t result = rondoCommRegister(comm, own.data(), own.size_bytes(), &registration);
        fillInput(input(rank), rank, round);
        if (result == rondoSuccess) result = call(comm, rank, round);
        std::ranges::fill(input(rank), -1.0F);
        EXPECT_EQ(wrong(rank, round), 0) << "rank " << rank << " round " << round;
        std::ranges::fill(own, -2.0F);
        if (result == rondoSuccess) result = rondoCommDeregister(comm, registration);
        return result;
      });
      EXPECT_THAT(outcomes, Each(Field(&Outcome::result, rondoSuccess)));
    }
    EXPECT_GT(rondoVerbsReadsInside(), kElements * sizeof(float));
    EXPECT_EQ(rondoVerbsReadsOutside(), 0U) << "copied first";
  }

  std::vector<float> memory_ = std::vector<float>(blocks() * rankElems());
};

TEST_P(RegisteredCallsTest, AllGatherDoesNotCopy) {
  expectNoCopies(
      [&](rondoComm_t comm, int rank, int /*round*/) {
        return rondoAllGather(input(rank).data(), output(rank).data(), kElements, rondoFloat32,
                              comm, nullptr);
      },
      [&](int rank, int round) {
        int wrong = 0;
        for (int from = 0; from < ranks(); ++from)
          for (std::size_t at = 0; at < kElements; ++at)
            wrong += output(rank)[static_cast<std::size_t>(from) * kElements + at] ==
                             valueOf(from, round, at)
                         ? 0
                         : 1;
        return wrong;
      });
}

TEST_P(RegisteredCallsTest, AllReduceDoesNotCopyInPlaceOrNot) {
  for (const bool inPlace : {false, true}) {
    SCOPED_TRACE(inPlace ? "in place" : "apart");
    const auto result = [&](int rank) { return inPlace ? input(rank) : output(rank); };
    std::vector<std::vector<float>> kept(blocks());
    expectNoCopies(
        [&](rondoComm_t comm, int rank, int /*round*/) {
          const rondoResult_t called =
              rondoAllReduce(input(rank).data(), result(rank).data(), kElements, rondoFloat32,
                             rondoSum, comm, nullptr);
          kept[static_cast<std::size_t>(rank)].assign(result(rank).begin(),
                                                      result(rank).begin() + kElements);
          return called;
        },
        [&](int rank, int round) {
          int wrong = 0;
          for (std::size_t at = 0; at < kElements; ++at) {
            float sum = 0;
            for (int from = 0; from < ranks(); ++from)
              sum += valueOf(from, round, at);
            wrong += kept[static_cast<std::size_t>(rank)][at] == sum ? 0 : 1;
          }
          return wrong;
        });
  }
}

TEST_P(RegisteredCallsTest, BroadcastDoesNotCopy) {
  expectNoCopies(
      [&](rondoComm_t comm, int rank, int /*round*/) {
        return rondoBroadcast(input(rank).data(), output(rank).data(), kElements, rondoFloat32,
                              /*root=*/0, comm, nullptr);
      },
      [&](int rank, int round) {
        int wrong = 0;
        for (std::size_t at = 0; at < kElements; ++at)
          wrong += output(rank)[at] == valueOf(0, round, at) ? 0 : 1;
        return wrong;
      });
}

TEST_P(RegisteredCallsTest, MessagesDoNotCopy) {
  expectNoCopies(
      [&](rondoComm_t comm, int rank, int /*round*/) {
        rondoResult_t result = rondoGroupStart();
        if (result == rondoSuccess)
          result = rondoSend(input(rank).data(), kElements, rondoFloat32, (rank + 1) % ranks(),
                             comm, nullptr);
        if (result == rondoSuccess)
          result = rondoRecv(output(rank).data(), kElements, rondoFloat32,
                             (rank + ranks() - 1) % ranks(), comm, nullptr);
        const rondoResult_t ended = rondoGroupEnd();
        return result == rondoSuccess ? ended : result;
      },
      [&](int rank, int round) {
        int wrong = 0;
        for (std::size_t at = 0; at < kElements; ++at)
          wrong += output(rank)[at] == valueOf((rank + ranks() - 1) % ranks(), round, at) ? 0 : 1;
        return wrong;
      });
}

/// The last rank does not call: the others have posted from their buffers when they are aborted,
/// and get them back.
TEST_P(RegisteredCallsTest, AnAbortGivesTheBuffersBack) {
  const int before = rondoVerbsRegions();
  {
    Communicators communicators(quietSettings(ranks()));
    const auto gather = [&](int rank, rondoComm_t comm) {
      return rondoAllGather(input(rank).data(), output(rank).data(), kElements, rondoFloat32, comm,
                            nullptr);
    };
    const auto registers = [&](int rank, rondoComm_t comm) {
      rondoRegistration_t registration = nullptr;
      return rondoCommRegister(comm, input(rank).data(), rankElems() * sizeof(float),
                               &registration);
    };
    outcomesOf(communicators, registers);
    EXPECT_THAT(outcomesOf(communicators, gather), Each(Field(&Outcome::result, rondoSuccess)));
    countReads(std::as_bytes(std::span(memory_)));
    const auto outcomes = outcomesOf(communicators, [&](int rank, rondoComm_t comm) {
      if (rank < ranks() - 1) {
        const rondoResult_t called = gather(rank, comm);
        std::ranges::fill(std::span(input(rank).data(), rankElems()), -3.0F);
        return called;
      }
      const Deadline deadline = Deadline::within(kTransportPatience);
      while (rondoVerbsReadsInside() == 0 && !deadline.passed())
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      EXPECT_GT(rondoVerbsReadsInside(), 0U);
      EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
      return rondoAborted;
    });
    EXPECT_THAT(outcomes, Each(Field(&Outcome::result, rondoAborted)));
  }
  EXPECT_EQ(rondoVerbsRegions(), before) << "registrations end with their communicators";
}

INSTANTIATE_TEST_SUITE_P(Ranks, RegisteredCallsTest, ::testing::Values(2, 3));

}  // namespace
}  // namespace rondo::testing
