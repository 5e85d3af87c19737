#include "transports/connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/message_inbox.h"
#include "transports/call_record.h"
#include "transports/inproc/thread_group.h"

namespace rondo {
namespace {

constexpr std::size_t kSlotBytes = 64;

class ConnectionTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  inproc::ThreadGroup group_{2, kSlotBytes, GetParam()};
  ConnectionMemory memory_ = *group_.connection(0, 1, 0);
  SendEnd send_{memory_, 1};
  RecvEnd recv_{memory_, 0};
};

TEST_P(ConnectionTest, HoldsExactlyItsSlots) {
  EXPECT_FALSE(recv_.slotFull());
  for (std::uint32_t k = 0; k < GetParam(); ++k) {
    ASSERT_TRUE(send_.slotFree());
    send_.post({k, 7});
  }
  EXPECT_FALSE(send_.slotFree());
  for (std::uint32_t k = 0; k < GetParam(); ++k) {
    ASSERT_TRUE(recv_.slotFull());
    EXPECT_EQ(recv_.entry().bytes, k);
    EXPECT_EQ(recv_.entry().call, 7U);
    recv_.release();
  }
  EXPECT_FALSE(recv_.slotFull());
  EXPECT_TRUE(send_.slotFree());
}

TEST_P(ConnectionTest, CarriesPayloadsInOrderBetweenThreads) {
  constexpr std::uint64_t kMessages = 5000;
  std::thread sender([this] {
    for (std::uint64_t k = 0; k < kMessages; ++k) {
      while (!send_.slotFree())
        std::this_thread::yield();
      std::memcpy(send_.slot(), &k, sizeof k);
      send_.post({sizeof k, k});
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 0; k < kMessages; ++k) {
    while (!recv_.slotFull())
      std::this_thread::yield();
    std::uint64_t got = 0;
    std::memcpy(&got, recv_.slot(), sizeof got);
    wrong += got == k && recv_.entry().call == k ? 0 : 1;
    recv_.release();
  }
  sender.join();
  EXPECT_EQ(wrong, 0U);
}

TEST_P(ConnectionTest, CarriesPayloadsThatStayWhereTheyAre) {
  const std::array<std::byte, 1000> here{std::byte{3}};
  const auto place = send_.nameOf(here.data(), here.size());
  ASSERT_TRUE(place.has_value());
  EXPECT_TRUE(send_.settled());
  send_.postElsewhere({here.size(), 7}, *place);
  EXPECT_FALSE(send_.settled());
  ASSERT_TRUE(recv_.slotFull());
  EXPECT_EQ(recv_.entry().payloadBytes(), here.size());
  ASSERT_TRUE(recv_.beginRead());
  EXPECT_EQ(recv_.payload(), here.data());
  recv_.release();
  EXPECT_TRUE(send_.settled());
  // What follows in the same slots is in these.
  for (std::uint32_t k = 0; k < GetParam(); ++k)
    send_.post({k, 7});
  EXPECT_TRUE(send_.settled());
  ASSERT_TRUE(recv_.slotFull());
  ASSERT_TRUE(recv_.beginRead());
  EXPECT_EQ(recv_.payload(), recv_.slot());
}

TEST_P(ConnectionTest, GivesAwayNothingThatWasWithdrawn) {
  const std::array<std::byte, 1000> here{};
  send_.postElsewhere({here.size(), 7}, *send_.nameOf(here.data(), here.size()));
  ASSERT_TRUE(recv_.slotFull());
  EXPECT_TRUE(send_.withdraw());
  EXPECT_FALSE(recv_.beginRead());
  recv_.cancelRead();
  EXPECT_TRUE(send_.withdraw());
}

TEST_P(ConnectionTest, WithdrawsOnlyWhenNobodyReads) {
  const std::array<std::byte, 1000> here{};
  send_.postElsewhere({here.size(), 7}, *send_.nameOf(here.data(), here.size()));
  ASSERT_TRUE(recv_.slotFull());
  ASSERT_TRUE(recv_.beginRead());
  EXPECT_FALSE(send_.withdraw());
  EXPECT_FALSE(send_.withdraw());
  recv_.release();
  EXPECT_TRUE(send_.withdraw());
}

constexpr std::size_t kPieceBytes = 1000;

/// A message of two pieces that are not in slots is put aside as one.
TEST_P(ConnectionTest, PayloadsElsewhereArePutAside) {
  std::array<std::byte, kPieceBytes + 500> here{};
  for (std::size_t at = 0; at < here.size(); ++at)
    here[at] = static_cast<std::byte>(at % 251);
  const host::MessageLabel label(DataType::kUint8, false, here.size(), 5);
  host::MessageInbox inbox;
  for (const std::size_t first : {std::size_t{0}, kPieceBytes}) {
    const std::size_t bytes = std::min(kPieceBytes, here.size() - first);
    send_.postElsewhere({bytes, label.word()}, *send_.nameOf(here.data() + first, bytes));
    ASSERT_TRUE(recv_.slotFull());
    EXPECT_TRUE(inbox.putAside(recv_, kPieceBytes));
    EXPECT_TRUE(send_.settled());
  }
  const auto message = inbox.take(5);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->filled, here.size());
  EXPECT_TRUE(std::ranges::equal(message->bytes, here));
}

TEST_P(ConnectionTest, WhatWasWithdrawnIsNotPutAside) {
  const std::array<std::byte, kPieceBytes> here{};
  const host::MessageLabel label(DataType::kUint8, false, here.size(), 5);
  send_.postElsewhere({here.size(), label.word()}, *send_.nameOf(here.data(), here.size()));
  ASSERT_TRUE(recv_.slotFull());
  EXPECT_TRUE(send_.withdraw());
  host::MessageInbox inbox;
  EXPECT_FALSE(inbox.putAside(recv_, kPieceBytes));
  EXPECT_TRUE(inbox.aside().empty());
  EXPECT_TRUE(send_.withdraw()) << "nobody reads";
}

INSTANTIATE_TEST_SUITE_P(Slots, ConnectionTest, ::testing::Values(1U, 2U, 3U, 8U, kMaxSlots));

TEST(ThreadGroup, GivesBothEndsTheSameMemoryAndEachPairItsOwn) {
  inproc::ThreadGroup group(3, kSlotBytes, 2);
  const ConnectionMemory first = *group.connection(0, 1, 0);
  EXPECT_EQ(group.connection(0, 1, 0)->control, first.control);
  EXPECT_NE(group.connection(1, 0, 0)->control, first.control);
  EXPECT_NE(group.connection(0, 2, 0)->control, first.control);
  EXPECT_NE(group.connection(0, 1, 1)->control, first.control);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.slots) % 64, 0U);
}

TEST(ThreadGroup, RefusesWhatMemoryCannotHold) {
  inproc::ThreadGroup group(2, std::size_t{1} << 60, 4);
  const Result<ConnectionMemory> connection = group.connection(0, 1, 0);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), StatusCode::kOutOfMemory);
}

TEST(ThreadGroup, KeepsTheFirstFailure) {
  inproc::ThreadGroup group(2, kSlotBytes, 2);
  EXPECT_TRUE(group.failure().ok());
  group.fail(Status::aborted("first"));
  group.fail(Status::timeout("second"));
  EXPECT_EQ(group.failure().message(), "first");
  EXPECT_TRUE(host::flagRaised(group.failedFlag()));
}

TEST(CallRecord, GivesBackWhatWasPublished) {
  CallRecord record;
  EXPECT_EQ(record.read()->sequence, 0U);
  CallSignature call;
  call.sequence = 9;
  call.count = 1ULL << 40;
  call.geometry = 77;
  call.root = 300;
  call.collective = 3;
  call.type = 14;
  call.op = 5;
  record.begin(call);
  EXPECT_EQ(record.read(), call);
  EXPECT_EQ(record.finished(), 0U);
  record.finish(9);
  EXPECT_EQ(record.finished(), 9U);
  EXPECT_FALSE(record.hasLeft());
  record.leave();
  EXPECT_TRUE(record.hasLeft());
}

/// They share a byte with a bit of the record's own.
TEST(CallRecord, KeepsShapeAndCodecApart) {
  CallRecord record;
  CallSignature call;
  for (const int shape : {0, 1, 2, 3}) {
    for (const int codec : {0, 1, 5, int{CallSignature::kMostCodec}}) {
      ++call.sequence;
      call.shape = static_cast<std::uint8_t>(shape);
      call.codec = static_cast<std::uint8_t>(codec);
      record.begin(call);
      EXPECT_EQ(record.read(), call) << shape << " " << codec;
      EXPECT_EQ(record.read()->varied(), shape % 2 == 1);
      EXPECT_EQ(record.read()->pairs(), shape >= 2);
    }
  }
}

TEST(CallRecord, RemembersTheLastCalls) {
  CallRecord record;
  CallSignature call;
  for (call.sequence = 1; call.sequence <= 20; ++call.sequence) {
    call.count = 100 + call.sequence;
    record.begin(call);
  }
  EXPECT_FALSE(record.call(12).has_value());
  EXPECT_EQ(record.call(13)->count, 113U);
  EXPECT_EQ(record.call(20), record.read());
  EXPECT_EQ(record.callOf(record.call(15)->fingerprint())->sequence, 15U);
  EXPECT_FALSE(record.callOf(1).has_value());
  EXPECT_FALSE(record.call(21).has_value());
}

TEST(CallRecord, RejectionsAreCutToFit) {
  CallRecord record;
  EXPECT_FALSE(record.rejection().has_value());
  record.reject(3, "short");
  EXPECT_EQ(record.rejection()->why, "short");
  record.reject(4, std::string(1000, 'x'));
  EXPECT_EQ(record.rejection()->sequence, 4U);
  EXPECT_EQ(record.rejection()->why, std::string(176, 'x'));
}

TEST(CallRecord, TravelsWhole) {
  CallRecord record;
  CallSignature call;
  call.sequence = 9;
  call.count = 5;
  record.begin(call);
  record.finish(9);
  record.reject(10, "no");
  CallRecord copy;
  copy.adopt(record.words());
  EXPECT_EQ(copy.read(), call);
  EXPECT_EQ(copy.call(9), call);
  EXPECT_EQ(copy.finished(), 9U);
  EXPECT_EQ(copy.rejection()->why, "no");
  EXPECT_FALSE(copy.hasLeft());
  record.leave();
  copy.adopt(record.words());
  EXPECT_TRUE(copy.hasLeft());
}

TEST(CallRecord, FingerprintsDifferInEveryField) {
  CallSignature base;
  base.sequence = 5;
  base.count = 100;
  std::vector<CallSignature> others(7, base);
  others[0].sequence = 6;
  others[1].count = 101;
  others[2].geometry = 1;
  others[3].root = 1;
  others[4].collective = 1;
  others[5].type = 1;
  others[6].op = 1;
  for (const CallSignature& other : others)
    EXPECT_NE(other.fingerprint(), base.fingerprint());
}

}  // namespace
}  // namespace rondo
