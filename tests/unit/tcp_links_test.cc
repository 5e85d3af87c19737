// The two ends of a tcp connection whose numbers of slots differ, as where one of them is short of
// memory.
#include <array>
#include <cstring>
#include <ostream>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "transports/tcp/recv_link.h"
#include "transports/tcp/send_link.h"

namespace rondo::tcp {
namespace {

constexpr std::size_t kSlotBytes = 64;

struct Slots {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
};

std::ostream& operator<<(std::ostream& out, Slots slots) {
  return out << slots.sender << " to " << slots.receiver;
}

class UnevenLinks : public ::testing::TestWithParam<Slots> {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    send_ = std::make_unique<SendLink>(1, FileDescriptor(ends[0]),
                                       PrivateConnection::make(kSlotBytes, GetParam().sender));
    recv_ = std::make_unique<RecvLink>(0, PrivateConnection::make(kSlotBytes, GetParam().receiver));
    recv_->adopt(FileDescriptor(ends[1]), GetParam().sender);
  }

  void progress() {
    ASSERT_TRUE(send_->progress().ok());
    const Result<bool> received = recv_->progress();
    ASSERT_TRUE(received.ok()) << received.status().message();
  }

  std::unique_ptr<SendLink> send_;
  std::unique_ptr<RecvLink> recv_;
};

TEST_P(UnevenLinks, TheSenderRunsAheadByItsOwnSlots) {
  SendEnd sender(send_->memory(), 1);
  std::uint32_t filled = 0;
  for (; sender.slotFree(); ++filled) {
    sender.post({kSlotBytes, 1});
    progress();
  }
  EXPECT_EQ(filled, GetParam().sender);
  EXPECT_TRUE(send_->flushed());
  EXPECT_FALSE(send_->taken());
  EXPECT_EQ(recv_->arrived(), std::min(GetParam().sender, GetParam().receiver));
  EXPECT_EQ(recv_->hasRoom(), GetParam().sender < GetParam().receiver);
}

TEST_P(UnevenLinks, AllArrivesOnceAndInOrder) {
  constexpr int kFillings = 1000;
  SendEnd sender(send_->memory(), 1);
  RecvEnd receiver(recv_->memory(), 0);
  int sent = 0;
  for (int taken = 0; taken < kFillings;) {
    for (; sent < kFillings && sender.slotFree(); ++sent) {
      std::memcpy(sender.slot(), &sent, sizeof sent);
      sender.post({sizeof sent, static_cast<std::uint64_t>(sent)});
    }
    progress();
    // Sometimes one, sometimes all.
    for (int atMost = taken % 3; atMost >= 0 && receiver.slotFull(); --atMost, ++taken) {
      ASSERT_EQ(std::memcmp(receiver.slot(), &taken, sizeof taken), 0);
      ASSERT_EQ(receiver.entry().call, static_cast<std::uint64_t>(taken));
      receiver.release();
    }
  }
  progress();
  progress();
  EXPECT_TRUE(send_->taken());
}

TEST_P(UnevenLinks, TheEndIsSeenBehindWhatHadNoRoom) {
  SendEnd sender(send_->memory(), 1);
  while (sender.slotFree())
    sender.post({kSlotBytes, 1});
  progress();
  send_->close();
  progress();
  RecvEnd receiver(recv_->memory(), 0);
  for (std::uint32_t taken = 0; taken < GetParam().sender; ++taken) {
    ASSERT_TRUE(receiver.slotFull());
    receiver.release();
    ASSERT_TRUE(recv_->progress().ok());
  }
  EXPECT_TRUE(recv_->ended());
  EXPECT_EQ(recv_->whyLost(), "");
}

INSTANTIATE_TEST_SUITE_P(Slots,
                         UnevenLinks,
                         ::testing::Values(Slots{4, 2}, Slots{2, 4}, Slots{64, 2}, Slots{3, 3}));

TEST(RecvLink, RefusesMoreThanThePeerHas) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  const FileDescriptor attacker(ends[0]);
  RecvLink link(1, PrivateConnection::make(kSlotBytes, 4));
  link.adopt(FileDescriptor(ends[1]), 2);
  const SlotHeader empty{0, kSlot, 1};
  for (int slot = 0; slot < 3; ++slot)
    ASSERT_EQ(::send(attacker.get(), &empty, sizeof empty, 0), ssize_t{sizeof empty});
  const Status status = link.progress().status();
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_NE(status.message().find("more slots than it has"), std::string_view::npos);
}

}  // namespace
}  // namespace rondo::tcp
