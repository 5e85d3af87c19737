// Memory for buffers, registered ones, and what ranks that are threads read where it lies: values,
// when buffers are the program's again, and what becomes of them when operations fail.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"
#include "tests/collective/rank_outcomes.h"
#include "tests/collective/rank_team.h"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Several slots of 64 KiB, more than there are slots.
constexpr std::size_t kManyBytes = std::size_t{1} << 20;

std::string lastError(rondoComm_t comm = nullptr) {
  return rondoGetLastError(comm);
}

class Memory {
 public:
  explicit Memory(std::size_t bytes) {
    EXPECT_EQ(rondoMemAlloc(&data_, bytes, -1), rondoSuccess) << lastError();
  }

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  ~Memory() { EXPECT_EQ(rondoMemFree(data_), rondoSuccess) << lastError(); }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

TEST(AllocatedMemory, IsZeroAndStartsOnAPage) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kManyBytes}) {
    const Memory memory(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0U);
    const std::span content(static_cast<const char*>(memory.data()), bytes);
    EXPECT_EQ(std::ranges::count(content, 0), static_cast<std::ptrdiff_t>(bytes));
  }
}

TEST(AllocatedMemory, RefusesWhatItCannotGive) {
  void* memory = nullptr;
  EXPECT_EQ(rondoMemAlloc(nullptr, 1, -1), rondoInvalidArgument);
  EXPECT_EQ(rondoMemAlloc(&memory, 1, -2), rondoInvalidArgument);
  EXPECT_THAT(lastError(), HasSubstr("-2"));
  EXPECT_EQ(rondoMemAlloc(&memory, SIZE_MAX, -1), rondoOutOfMemory);
  EXPECT_EQ(rondoMemAlloc(&memory, SIZE_MAX / 4, -1), rondoOutOfMemory);
  EXPECT_EQ(memory, nullptr);
}

TEST(AllocatedMemory, IsFreedOnceAndFromItsBeginning) {
  void* memory = nullptr;
  ASSERT_EQ(rondoMemAlloc(&memory, kManyBytes, -1), rondoSuccess);
  EXPECT_EQ(rondoMemFree(static_cast<char*>(memory) + 4096), rondoInvalidArgument);
  EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
  EXPECT_EQ(rondoMemFree(memory), rondoInvalidArgument);
  EXPECT_THAT(lastError(), HasSubstr("not memory of rondoMemAlloc"));
  int own = 0;
  EXPECT_EQ(rondoMemFree(&own), rondoInvalidArgument);
  EXPECT_EQ(rondoMemFree(nullptr), rondoSuccess);
}

/// 0 as an exit status if `condition` holds.
int unless(bool condition) {
  return condition ? 0 : 1;
}

TEST(AllocatedMemory, RemainsTheParentsAfterFork) {
  const Memory memory(kManyBytes);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = unless(rondoMemFree(memory.data()) == rondoSuccess);
    *static_cast<int*>(memory.data()) = 7;  // still there, and the parent's
    void* own = nullptr;
    wrong += unless(rondoMemAlloc(&own, kManyBytes, -1) == rondoSuccess);
    wrong += unless(rondoMemFree(own) == rondoSuccess);
    ::_exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*static_cast<int*>(memory.data()), 7);
}

/// Registers `bytes` at `buffer`; null if that was refused with `expected`.
rondoRegistration_t registered(rondoComm_t comm,
                               void* buffer,
                               std::size_t bytes,
                               rondoResult_t expected = rondoSuccess) {
  rondoRegistration_t registration = nullptr;
  EXPECT_EQ(rondoCommRegister(comm, buffer, bytes, &registration), expected) << lastError(comm);
  return registration;
}

TEST(RegisteredMemory, IsNotFreedBeforeItIsDeregistered) {
  Communicators communicators(quietSettings(2));
  void* memory = nullptr;
  ASSERT_EQ(rondoMemAlloc(&memory, kManyBytes, -1), rondoSuccess);
  // Parts count as the whole, the same range as often as it was registered.
  const rondoRegistration_t part = registered(communicators[0], memory, 100);
  const rondoRegistration_t whole = registered(communicators[1], memory, kManyBytes);
  EXPECT_EQ(registered(communicators[1], memory, kManyBytes), whole);
  EXPECT_EQ(rondoMemFree(memory), rondoInvalidUsage);
  EXPECT_THAT(lastError(), AllOf(HasSubstr("rank 1"), HasSubstr("rondoCommDeregister")));
  EXPECT_EQ(rondoCommDeregister(communicators[0], part), rondoSuccess);
  EXPECT_EQ(rondoCommDeregister(communicators[1], whole), rondoSuccess);
  EXPECT_EQ(rondoMemFree(memory), rondoInvalidUsage);
  EXPECT_EQ(rondoCommDeregister(communicators[1], whole), rondoSuccess);
  EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
}

TEST(RegisteredMemory, IsGivenUpByDestroyingItsCommunicatorAbortedOrNot) {
  for (const bool aborted : {false, true}) {
    Communicators communicators(quietSettings(2));
    void* memory = nullptr;
    ASSERT_EQ(rondoMemAlloc(&memory, kManyBytes, -1), rondoSuccess);
    registered(communicators[0], memory, kManyBytes);
    if (aborted) {
      EXPECT_EQ(rondoCommAbort(communicators[0]), rondoSuccess);
      EXPECT_EQ(rondoMemFree(memory), rondoInvalidUsage);
    }
    EXPECT_EQ(communicators.destroy(0), rondoSuccess);
    EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
  }
}

TEST(RegisteredMemory, RefusesWrongRangesAndHandles) {
  Communicators communicators(quietSettings(2));
  const rondoComm_t comm = communicators[0];
  const Memory memory(kManyBytes);
  std::vector<float> other(100);
  registered(comm, nullptr, 4, rondoInvalidArgument);
  registered(comm, other.data(), 0, rondoInvalidArgument);
  registered(comm, other.data(), SIZE_MAX, rondoInvalidArgument);
  registered(comm, static_cast<char*>(memory.data()) + 100, kManyBytes, rondoInvalidArgument);
  EXPECT_THAT(lastError(comm), HasSubstr("100 bytes beyond"));
  EXPECT_EQ(rondoCommRegister(comm, other.data(), 4, nullptr), rondoInvalidArgument);

  const rondoRegistration_t registration = registered(comm, other.data(), 400);
  EXPECT_EQ(rondoCommDeregister(communicators[1], registration), rondoInvalidUsage);
  EXPECT_EQ(rondoCommDeregister(comm, registration), rondoSuccess);
  EXPECT_EQ(rondoCommDeregister(comm, registration), rondoInvalidUsage);
  EXPECT_THAT(lastError(comm), HasSubstr("was deregistered"));
  EXPECT_EQ(rondoCommDeregister(comm, nullptr), rondoInvalidArgument);
  const auto stranger = reinterpret_cast<rondoRegistration_t>(other.data());
  EXPECT_EQ(rondoCommDeregister(comm, stranger), rondoInvalidArgument);
}

TEST(RegisteredMemory, CppApiOwnsBuffersAndRegistrations) {
  const std::vector<rondo::Communicator> ranks = rondo::Communicator::createAll(2);
  const auto body = [&](int rank) {
    const rondo::Communicator& comm = ranks[static_cast<std::size_t>(rank)];
    rondo::Buffer<float> buffer(100000);
    const rondo::Registration registration = comm.registerBuffer(buffer);
    std::ranges::fill(buffer, static_cast<float>(rank + 1));
    comm.allReduce(buffer);
    EXPECT_EQ(std::ranges::count(buffer, 3.0F), 100000);
    EXPECT_EQ(rondoMemFree(buffer.data()), rondoInvalidUsage);
  };
  EXPECT_TRUE(RankTeam::shared().run(2, body));
}

/// What a rank puts into its buffer for a round.
float valueOf(int rank, int round, std::size_t at) {
  return static_cast<float>((at * 7 + static_cast<std::size_t>(rank * 13 + round * 29)) % 1000);
}

void fill(std::span<float> data, int rank, int round) {
  for (std::size_t at = 0; at < data.size(); ++at)
    data[at] = valueOf(rank, round, at);
}

/// Elements of `data` that are not the sum of what all ranks have put into the round.
std::size_t wrongSums(std::span<const float> data, int ranks, int round) {
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < data.size(); ++at) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
      sum += valueOf(rank, round, at);
    wrong += data[at] == sum ? 0 : 1;
  }
  return wrong;
}

std::size_t wrongCopies(std::span<const float> data, int from, int round) {
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < data.size(); ++at)
    wrong += data[at] == valueOf(from, round, at) ? 0 : 1;
  return wrong;
}

void runRanks(const Communicators& communicators, const std::function<void(int)>& body) {
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), body, [&] { communicators.abort(); }));
}

/// Has buffers of three kinds, which ranks mix.
class Buffers {
 public:
  Buffers(rondoComm_t comm, int kind, std::size_t elements) : comm_(comm) {
    if (kind == 0) {
      own_.resize(elements);
      data_ = own_;
      return;
    }
    allocated_.emplace(elements);
    data_ = {allocated_->data(), elements};
    if (kind == 2) registration_ = registered(comm, data_.data(), data_.size_bytes());
  }

  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  ~Buffers() {
    if (registration_ == nullptr) return;
    EXPECT_EQ(rondoCommDeregister(comm_, registration_), rondoSuccess);
  }

  std::span<float> data() const { return data_; }

 private:
  rondoComm_t comm_;
  std::vector<float> own_;
  std::optional<rondo::Buffer<float>> allocated_;
  rondoRegistration_t registration_ = nullptr;
  std::span<float> data_;
};

/// Each rank spoils its buffers as soon as a call returns: nobody may be reading them any more.
TEST(BuffersInPlace, AreTheProgramsOwnOnceACallReturns) {
  for (const int ranks : {2, 3, 4}) {
    const Communicators communicators({.ranks = ranks});
    runRanks(communicators, [&](int rank) {
      const rondoComm_t comm = communicators[rank];
      constexpr std::size_t kElements = 70001;
      const Buffers input(comm, rank % 3, kElements);
      const Buffers output(comm, (rank + 1) % 3, kElements);
      for (int round = 0; round < 12; ++round) {
        const int root = round % ranks;
        fill(input.data(), rank, round);
        ASSERT_EQ(rondoBroadcast(input.data().data(), output.data().data(), kElements, rondoFloat32,
                                 root, comm, nullptr),
                  rondoSuccess)
            << lastError(comm);
        std::ranges::fill(input.data(), -1.0F);
        EXPECT_EQ(wrongCopies(output.data(), root, round), 0U) << "round " << round;
        std::ranges::fill(output.data(), -2.0F);

        fill(input.data(), rank, round);
        float* const result = round % 2 == 0 ? input.data().data() : output.data().data();
        ASSERT_EQ(rondoAllReduce(input.data().data(), result, kElements, rondoFloat32, rondoSum,
                                 comm, nullptr),
                  rondoSuccess)
            << lastError(comm);
        if (round % 2 != 0) std::ranges::fill(input.data(), -3.0F);
        EXPECT_EQ(wrongSums({result, kElements}, ranks, round), 0U) << "round " << round;
        std::fill_n(result, kElements, -4.0F);
      }
    });
  }
}

TEST(BuffersInPlace, OfMessagesAreTheProgramsOwnOnceTheirGroupEnds) {
  constexpr int kRanks = 3;
  const Communicators communicators({.ranks = kRanks});
  runRanks(communicators, [&](int rank) {
    const rondoComm_t comm = communicators[rank];
    constexpr std::size_t kElements = 100000;
    const Buffers out(comm, rank, kElements);
    const Buffers in(comm, (rank + 1) % 3, kElements);
    for (int round = 0; round < 12; ++round) {
      const int next = (rank + 1 + round % 2) % kRanks;
      const int before = (rank + kRanks - 1 - round % 2) % kRanks;
      fill(out.data(), rank, round);
      rondoGroupStart();
      rondoSend(out.data().data(), kElements, rondoFloat32, next, comm, nullptr);
      rondoRecv(in.data().data(), kElements, rondoFloat32, before, comm, nullptr);
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << lastError(comm);
      std::ranges::fill(out.data(), -1.0F);
      EXPECT_EQ(wrongCopies(in.data(), before, round), 0U) << "round " << round;
    }
  });
}

/// Memory that is gone, not just free, as soon as its owner gives it up: who reads it then ends the
/// test program.
class UnmappedBuffer {
 public:
  explicit UnmappedBuffer(std::size_t elements) : bytes_(elements * sizeof(float)) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(data_, MAP_FAILED);
  }

  UnmappedBuffer(const UnmappedBuffer&) = delete;
  UnmappedBuffer& operator=(const UnmappedBuffer&) = delete;

  ~UnmappedBuffer() { ::munmap(data_, bytes_); }

  float* data() const { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

rondoResult_t broadcastOnce(rondoComm_t comm, int root, std::size_t elements) {
  const UnmappedBuffer buffer(elements);
  return rondoBroadcast(buffer.data(), buffer.data(), elements, rondoFloat32, root, comm, nullptr);
}

rondoResult_t sumOnce(rondoComm_t comm, std::size_t elements) {
  const UnmappedBuffer input(elements);
  const UnmappedBuffer output(elements);
  return rondoAllReduce(input.data(), output.data(), elements, rondoFloat32, rondoSum, comm,
                        nullptr);
}

/// The root has posted where its buffer lies; it is gone when the others come to look.
TEST(BuffersInPlace, AreNotReadAfterTheirOperationWasAborted) {
  constexpr int kRanks = 3;
  const Communicators communicators(quietSettings(kRanks));
  std::atomic<bool> rootIsBack = false;
  runRanks(communicators, [&](int rank) {
    const rondoComm_t comm = communicators[rank];
    if (rank == 0) {
      EXPECT_EQ(broadcastOnce(comm, 0, kManyBytes), rondoAborted);
      rootIsBack = true;
    } else if (rank == 1) {
      EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
    } else {
      while (!rootIsBack)
        std::this_thread::yield();
      EXPECT_EQ(broadcastOnce(comm, 0, kManyBytes), rondoAborted);
    }
  });
}

/// Ends come at any moment of an operation: by abort, by another call of one rank, or by a rank
/// that leaves. All ranks' buffers are gone when their calls return.
TEST(BuffersInPlace, AreNotReadAfterTheirOperationFailed) {
  constexpr int kRanks = 3;
  std::mt19937 random(20);
  for (int trial = 0; trial < 60; ++trial) {
    const Communicators communicators(quietSettings(kRanks));
    const int troublemaker = static_cast<int>(random() % kRanks);
    const auto goodCalls = random() % 4;
    const auto patience = random() % 20000;
    runRanks(communicators, [&](int rank) {
      const rondoComm_t comm = communicators[rank];
      rondoResult_t result = rondoSuccess;
      for (std::size_t call = 0; call < goodCalls && result == rondoSuccess; ++call)
        result = sumOnce(comm, 300000);
      if (rank == troublemaker && trial % 3 == 0) {
        result = sumOnce(comm, 300001);
      } else if (rank == troublemaker) {
        for (std::size_t spun = 0; spun < patience; ++spun)
          std::atomic_signal_fence(std::memory_order_seq_cst);
        rondoCommAbort(comm);
        result = sumOnce(comm, 300000);
      } else {
        for (int call = 0; call < 1000 && result == rondoSuccess; ++call)
          result = trial % 2 == 0 ? sumOnce(comm, 300000) : broadcastOnce(comm, 0, 300000);
      }
      EXPECT_NE(result, rondoSuccess);
    });
  }
}

TEST(BuffersInPlace, OfMessagesAreNotReadAfterTheirGroupFailed) {
  for (int trial = 0; trial < 30; ++trial) {
    const Communicators communicators(quietSettings(2));
    runRanks(communicators, [&](int rank) {
      const rondoComm_t comm = communicators[rank];
      rondoResult_t result = rondoSuccess;
      for (int message = 0; message < 1000 && result == rondoSuccess; ++message) {
        const UnmappedBuffer out(200000);
        const UnmappedBuffer in(200000);
        rondoGroupStart();
        rondoSend(out.data(), 200000, rondoFloat32, 1 - rank, comm, nullptr);
        rondoRecv(in.data(), 200000, rondoFloat32, 1 - rank, comm, nullptr);
        if (rank == 1 && message == trial % 5) rondoCommAbort(comm);
        result = rondoGroupEnd();
      }
      EXPECT_EQ(result, rondoAborted);
    });
  }
}

}  // namespace
}  // namespace rondo::testing
