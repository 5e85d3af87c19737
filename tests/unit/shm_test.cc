// Shared memory within one process: what the arena promises, and how it gets from hand to hand.

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/secret_keys.h"
#include "transports/shm/arena.h"
#include "transports/shm/arena_exchange.h"
#include "transports/shm/shm_group.h"

namespace rondo::shm {
namespace {

using std::chrono::milliseconds;

TEST(Arena, CannotBeShrunkUnderAReader) {
  Result<Arena> arena = Arena::create(1 << 20);
  ASSERT_TRUE(arena.ok());
  EXPECT_NE(::ftruncate(arena->file().get(), 4096), 0);
  EXPECT_NE(::ftruncate(arena->file().get(), 1 << 21), 0);
}

TEST(Arena, ReservesOnlyWhatItHas) {
  Result<Arena> arena = Arena::create(1 << 20);
  ASSERT_TRUE(arena.ok());
  EXPECT_TRUE(arena->reserve(4096, 8192).ok());
  const Status beyond = arena->reserve(1 << 20, 4096);
  EXPECT_EQ(beyond.code(), StatusCode::kOutOfMemory);
  EXPECT_NE(beyond.message().find("4096"), std::string_view::npos);
}

TEST(Arena, RefusesFilesThatCouldShrink) {
  FileDescriptor plain(::memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(plain.get(), 1 << 20), 0);
  EXPECT_EQ(Arena::map(std::move(plain)).status().code(), StatusCode::kSystemError);
}

TEST(Arena, MapsHugePagesWhereTheKernelGivesThem) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  Result<Arena> arena = Arena::create(2 * kHuge);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->data()) % kHuge, 0U);
  EXPECT_EQ(arena->hugePageBytes(), 0U);
  ASSERT_TRUE(arena->reserve(kHuge + 4096, 256 << 10).ok());
  EXPECT_EQ(arena->data()[kHuge + 8192], std::byte{0});
  if (arena->hugePageBytes() == 0) GTEST_SKIP() << "this kernel gives none (Linux 6.1 does)";
  EXPECT_EQ(arena->hugePageBytes(), kHuge);
}

/// The limit is one of the whole process, so it is set in a child.
TEST(Arena, BeyondTheFileSizeLimitIsAnErrorAndNoSignal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = Arena::create(8 << 20).status();
    const bool right = status.code() == StatusCode::kOutOfMemory &&
                       status.message().find("8388608") != std::string_view::npos &&
                       Arena::create(1 << 20).ok();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ArenaExchange, PassesTheSameMemoryAndDropsStrangers) {
  const Result<ArenaListener> listener = ArenaListener::create();
  ASSERT_TRUE(listener.ok());
  const Result<Arena> arena = Arena::create(1 << 20);
  ASSERT_TRUE(arena.ok());
  std::thread server([&] {
    EXPECT_TRUE(
        listener->handOut(*arena, 1, 2, keyOf(1), Deadline::within(milliseconds{20000})).ok());
  });
  const Result<Arena> stranger =
      takeArena(listener->address(), 1, 2, keyOf(2), Deadline::within(milliseconds{10000}));
  EXPECT_FALSE(stranger.ok());
  const Result<Arena> taken =
      takeArena(listener->address(), 1, 2, keyOf(1), Deadline::within(milliseconds{10000}));
  server.join();
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  std::memcpy(arena->data() + 5000, "rondo", 6);
  EXPECT_STREQ(reinterpret_cast<const char*>(taken->data() + 5000), "rondo");
}

TEST(ArenaExchange, SaysHowManyDidNotCome) {
  const Result<ArenaListener> listener = ArenaListener::create();
  const Result<Arena> arena = Arena::create(4096);
  const Status status =
      listener->handOut(*arena, 3, 4, keyOf(1), Deadline::within(milliseconds{50}));
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_NE(status.message().find("3 of 3"), std::string_view::npos) << status.message();
}

/// Two views of one arena, as two processes have them.
class ShmGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Arena> arena = ShmGroup::makeArena(2, 4096, 4);
    ASSERT_TRUE(arena.ok()) << arena.status().message();
    Result<Arena> other = Arena::map(FileDescriptor(::dup(arena->file().get())));
    ASSERT_TRUE(other.ok());
    const std::array<ShmGroup::Member, 2> members = {{{0, ::getpid()}, {1, ::getpid()}}};
    groups_[0] = *ShmGroup::join(*std::move(arena), members, 0);
    groups_[1] = *ShmGroup::join(*std::move(other), members, 1);
  }

  std::array<std::unique_ptr<ShmGroup>, 2> groups_;
};

TEST_F(ShmGroupTest, BothEndsOfAConnectionMeet) {
  const Result<ConnectionMemory> sending = groups_[0]->connection(0, 1, 3);
  const Result<ConnectionMemory> receiving = groups_[1]->connection(0, 1, 3);
  ASSERT_TRUE(sending.ok() && receiving.ok());
  EXPECT_NE(sending->slots, receiving->slots);  // mapped at two places
  SendEnd send(*sending, 1);
  RecvEnd recv(*receiving, 0);
  for (int k = 0; k < 10; ++k) {
    ASSERT_TRUE(send.slotFree());
    std::memset(send.slot(), k, 4096);
    send.post({4096, 77});
    ASSERT_TRUE(recv.slotFull());
    EXPECT_EQ(recv.slot()[4095], static_cast<std::byte>(k));
    EXPECT_EQ(recv.entry().call, 77U);
    recv.release();
  }
}

TEST_F(ShmGroupTest, AFailureReachesTheOthersWithItsText) {
  EXPECT_TRUE(groups_[1]->failure().read().ok());
  groups_[0]->fail(Status::peerLost("rank 7 is gone"));
  groups_[1]->fail(Status::timeout("too late"));
  EXPECT_TRUE(host::flagRaised(groups_[1]->failure().flag));
  EXPECT_EQ(groups_[1]->failure().read().code(), StatusCode::kPeerLost);
  EXPECT_EQ(groups_[1]->failure().read().message(), "rank 7 is gone");
}

TEST(ShmGroup, KnowsWhichProcessesAreGone) {
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  Result<Arena> arena = ShmGroup::makeArena(3, 4096, 2);
  // Ranks of a communicator of which some are on other hosts.
  const std::array<ShmGroup::Member, 3> members = {{{4, ::getpid()}, {6, child}, {7, gone}}};
  const auto group = *ShmGroup::join(*std::move(arena), members, 0);
  EXPECT_EQ(group->whyLost(4), "");
  EXPECT_EQ(group->whyLost(6), "");
  EXPECT_EQ(group->whyLost(7), "its process has ended");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(group->whyLost(6), "its process has ended");
}

TEST(ShmGroup, NamesARankThatEndedWhileItMadeAConnection) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  Result<Arena> arena = ShmGroup::makeArena(2, 4096, 2);
  // As that rank leaves it if it is killed after it has said that it makes the connection.
  std::byte* const word = arena->data() + ArenaLayout{2}.directoryWord(1, 0, 0);
  std::memcpy(word, &kBeingMade, sizeof kBeingMade);
  const std::array<ShmGroup::Member, 2> members = {{{0, ::getpid()}, {1, gone}}};
  const auto group = *ShmGroup::join(*std::move(arena), members, 0);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = group->connection(1, 0, 0).status();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{2});
  EXPECT_EQ(status.code(), StatusCode::kPeerLost);
  EXPECT_NE(status.message().find("rank 1"), std::string_view::npos) << status.message();
}

TEST(ShmGroup, ANoticeIsClaimedOnce) {
  Result<Arena> arena = ShmGroup::makeArena(1, 4096, 2);
  const std::array<ShmGroup::Member, 1> self = {{{0, ::getpid()}}};
  const auto group = *ShmGroup::join(*std::move(arena), self, 0);
  EXPECT_TRUE(group->claimNotice());
  EXPECT_FALSE(group->claimNotice());
}

TEST_F(ShmGroupTest, RunsOutOfSpaceWithAnError) {
  Status last;
  for (int channel = 0; channel < kMaxChannels && last.ok(); ++channel) {
    last = groups_[0]->connection(0, 1, channel).status();
  }
  EXPECT_TRUE(last.ok());  // 32 connections of 20 KiB fit into its 128 MiB
  Result<Arena> tight = ShmGroup::makeArena(1, std::size_t{4} << 20, 4);
  ASSERT_TRUE(tight.ok());
  const std::array<ShmGroup::Member, 1> self = {{{0, ::getpid()}}};
  const auto group = *ShmGroup::join(*std::move(tight), self, 0);
  int made = 0;
  while (made < kMaxChannels && group->connection(0, 0, made).ok())
    ++made;
  EXPECT_LT(made, kMaxChannels);
  EXPECT_EQ(group->connection(0, 0, made).status().code(), StatusCode::kOutOfMemory);
}

/// Of 64 MiB, half is enough for two connections of 4 slots of 2.75 MiB; the rest for seven of 2.
TEST(ShmGroup, MakesDoWithTwoSlotsAndBothEndsKnow) {
  constexpr std::size_t kLimit = std::size_t{64} << 20;
  SlotLedger ledger;
  Result<Arena> arena = ShmGroup::makeArena(1, std::size_t{11} << 18, 4, kLimit);
  ASSERT_TRUE(arena.ok());
  Result<Arena> other = Arena::map(FileDescriptor(::dup(arena->file().get())));
  const std::array<ShmGroup::Member, 1> self = {{{0, ::getpid()}}};
  const auto group = *ShmGroup::join(*std::move(arena), self, 0, SlotAccount(kLimit, ledger));
  const auto peer = *ShmGroup::join(*std::move(other), self, 0);
  for (int channel = 0; channel < 9; ++channel) {
    EXPECT_EQ(group->connection(0, 0, channel)->slotCount, channel < 2 ? 4U : 2U);
    EXPECT_EQ(peer->connection(0, 0, channel)->slotCount, channel < 2 ? 4U : 2U);
  }
  for (ShmGroup* end : {group.get(), peer.get()}) {
    const Status none = end->connection(0, 0, 9).status();
    EXPECT_EQ(none.code(), StatusCode::kOutOfMemory);
    for (const char* part : {"5771264", "RONDO_SLOT_MEMORY_BYTES"})
      EXPECT_NE(none.message().find(part), std::string_view::npos) << none.message();
  }
}

/// The same for address space: of 64 MiB, the first half holds three of 4 slots, the last of which
/// sticks out of it; the rest holds five of 2.
TEST(ShmGroup, MakesDoWithTwoSlotsInTheSecondHalfOfTheArena) {
  SlotLedger ledger;
  Result<Arena> arena = ShmGroup::makeArena(1, std::size_t{11} << 18, 4);
  ASSERT_TRUE(arena.ok());
  const std::array<ShmGroup::Member, 1> self = {{{0, ::getpid()}}};
  const auto group = *ShmGroup::join(*std::move(arena), self, 0, SlotAccount(0, ledger));
  for (int channel = 0; channel < 8; ++channel)
    EXPECT_EQ(group->connection(0, 0, channel)->slotCount, channel < 3 ? 4U : 2U);
  const Status none = group->connection(0, 0, 8).status();
  EXPECT_EQ(none.code(), StatusCode::kOutOfMemory);
  EXPECT_NE(none.message().find("5771264"), std::string_view::npos) << none.message();
}

TEST(ShmGroup, CountsOnlyWhatTheSystemGave) {
  SlotLedger ledger;
  Result<Arena> tight = ShmGroup::makeArena(1, std::size_t{4} << 20, 4);
  ASSERT_TRUE(tight.ok());
  const std::array<ShmGroup::Member, 1> self = {{{0, ::getpid()}}};
  auto group = *ShmGroup::join(*std::move(tight), self, 0, SlotAccount(0, ledger));
  std::size_t counted = 0;
  for (int channel = 0; channel < kMaxChannels; ++channel) {
    const Result<ConnectionMemory> made = group->connection(0, 0, channel);
    if (made.ok()) counted += connectionBytes({made->slotBytes, made->slotCount});
  }
  EXPECT_GT(counted, 0U);
  EXPECT_EQ(ledger.held(), counted);
  group.reset();
  EXPECT_EQ(ledger.held(), 0U);
}

TEST_F(ShmGroupTest, RefusesAnArenaOfAnotherNumberOfRanks) {
  Result<Arena> arena = ShmGroup::makeArena(3, 4096, 4);
  const std::array<ShmGroup::Member, 2> members = {{{0, ::getpid()}, {1, ::getpid()}}};
  EXPECT_EQ(ShmGroup::join(*std::move(arena), members, 0).status().code(),
            StatusCode::kSystemError);
}

}  // namespace
}  // namespace rondo::shm
