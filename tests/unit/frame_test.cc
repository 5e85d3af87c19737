// Frames and their fields, the messages of a rendezvous, and the roster: what comes after the
// handshake, without sockets.
#include "src/bootstrap/frame.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/bootstrap/log_quota.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/bootstrap/roster.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;

/// Gives `bytes` to the reader piece by piece, as far as it wants them.
Status feed(FrameReader& reader, std::span<const std::byte> bytes, std::size_t pieceBytes) {
  while (!bytes.empty() && reader.wanted() > 0) {
    const std::size_t piece = std::min({bytes.size(), reader.wanted(), pieceBytes});
    RONDO_RETURN_IF_ERROR(reader.receive(bytes.first(piece)));
    bytes = bytes.subspan(piece);
  }
  return {};
}

Frame frameOf(const Bytes& stream) {
  FrameReader reader;
  EXPECT_TRUE(feed(reader, stream, stream.size()).ok());
  EXPECT_TRUE(reader.complete());
  return reader.take();
}

TEST(Frame, ComesBackAsItWas) {
  for (const std::size_t payloadBytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    const Bytes payload(payloadBytes, std::byte{7});
    Bytes stream;
    appendFrame(stream, 3, payload);
    for (const std::size_t pieceBytes : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      FrameReader reader;
      ASSERT_TRUE(feed(reader, stream, pieceBytes).ok());
      ASSERT_TRUE(reader.complete());
      const Frame frame = reader.take();
      EXPECT_EQ(frame.type, 3);
      EXPECT_EQ(frame.payload, payload);
      EXPECT_EQ(reader.wanted(), sizeof(FrameHeader)) << "not ready for the next";
    }
  }
}

TEST(Frame, TooLongIsRefusedByItsHeader) {
  Bytes stream;
  appendFrame(stream, 1, Bytes(101));
  FrameReader reader(100);
  const Status status = feed(reader, std::span(stream).first(sizeof(FrameHeader)), 8);
  EXPECT_EQ(status.message(), "its message would have 101 bytes, of at most 100");
  EXPECT_EQ(reader.wanted(), 0U);
  EXPECT_FALSE(reader.complete());
  FrameReader longest;
  EXPECT_FALSE(feed(longest, Bytes(sizeof(FrameHeader), std::byte{0xff}), 8).ok());
}

TEST(Frame, FieldsAreCheckedBeforeTheyAreTaken) {
  FieldWriter writer;
  writer.putU32(0xdeadbeef);
  writer.putString("hello");
  const Bytes whole(writer.bytes().begin(), writer.bytes().end());
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    FieldReader reader{std::span<const std::byte>(whole).first(length)};
    const std::uint32_t number = reader.takeU32();
    const std::string text = reader.takeString();
    EXPECT_EQ(reader.finish().ok(), length == whole.size());
    EXPECT_EQ(number, length >= 4 ? 0xdeadbeef : 0U);
    EXPECT_EQ(text, length == whole.size() ? "hello" : "");
  }
  FieldReader partly(whole);
  EXPECT_EQ(partly.takeU32(), 0xdeadbeef);
  EXPECT_FALSE(partly.finish().ok()) << "bytes were left";
}

TEST(RendezvousMessages, ComeBackAsTheyWere) {
  Bytes stream;
  appendJoin(stream, {.round = 3, .patience = std::chrono::milliseconds{1500}, .payload = "a\0b"});
  const Result<JoinMessage> join = readJoin(frameOf(stream));
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(join->round, 3U);
  EXPECT_EQ(join->patience, std::chrono::milliseconds{1500});
  EXPECT_EQ(join->payload, "a\0b");

  stream.clear();
  appendEntry(stream, {.rank = 7, .payload = std::string(kMaxExchangeBytes, 'x')});
  const Result<EntryMessage> entry = readEntry(frameOf(stream));
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->rank, 7);
  EXPECT_EQ(entry->payload.size(), kMaxExchangeBytes);
  EXPECT_FALSE(readJoin(frameOf(stream)).ok());

  stream.clear();
  appendFailure(stream, Status::timeout("too late"));
  const Status failure = readEntry(frameOf(stream)).status();
  EXPECT_EQ(failure.code(), StatusCode::kTimeout);
  EXPECT_EQ(failure.message(), "too late");

  stream.clear();
  appendFarewell(stream);
  EXPECT_TRUE(isFarewell(frameOf(stream)));
  EXPECT_FALSE(readJoin(frameOf(stream)).ok());
}

TEST(RendezvousMessages, UnknownCodesAreNotBelieved) {
  for (const std::uint32_t code : {0U, 1U, 999U, 0xffffffffU}) {
    FieldWriter fields;
    fields.putU32(code);
    fields.putString("odd");
    Bytes stream;
    appendFrame(stream, static_cast<std::uint16_t>(RendezvousMessage::kFailure), fields.bytes());
    const Result<EntryMessage> answer = readEntry(frameOf(stream));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.status().code(), StatusCode::kInternal);
  }
}

PeerIdentity rankOf(int rank, int ranks) {
  return {.role = PeerRole::kRendezvous, .rank = rank, .ranks = ranks};
}

TEST(Roster, IsCompleteOnceAllHaveCome) {
  Roster roster;
  EXPECT_FALSE(roster.complete());
  for (const int rank : {2, 0, 1}) {
    EXPECT_FALSE(roster.complete());
    ASSERT_TRUE(roster.enter(rankOf(rank, 3), {.payload = std::to_string(rank)}, "x").ok());
  }
  EXPECT_TRUE(roster.complete());
}

TEST(Roster, NamesWhoIsMissing) {
  Roster roster;
  for (const int rank : {1, 6})
    ASSERT_TRUE(roster.enter(rankOf(rank, 8), {}, "x").ok());
  EXPECT_NE(roster.overdue().message().find("only 2 of 8 ranks joined in time; missing: rank 0, 2 "
                                            "to 5, 7"),
            std::string_view::npos)
      << roster.overdue().message();
}

TEST(Roster, ListsOfRanksStayShort) {
  EXPECT_EQ(listRanks({}), "");
  EXPECT_EQ(listRanks({3}), "3");
  EXPECT_EQ(listRanks({3, 4}), "3, 4");
  EXPECT_EQ(listRanks({3, 4, 5, 9}), "3 to 5, 9");
  std::vector<int> odd;
  for (int rank = 1; rank < 1000; rank += 2)
    odd.push_back(rank);
  EXPECT_EQ(listRanks(odd), "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 488 more");
}

TEST(Roster, RefusesWhatDoesNotFit) {
  Roster roster;
  ASSERT_TRUE(roster.enter(rankOf(1, 4), {}, "10.0.0.1:5").ok());
  const Status twice = roster.enter(rankOf(1, 4), {}, "10.0.0.2:5");
  EXPECT_EQ(twice.code(), StatusCode::kMismatch);
  for (const char* part : {"rank 1", "10.0.0.1:5", "10.0.0.2:5"})
    EXPECT_NE(twice.message().find(part), std::string_view::npos) << twice.message();
  const Status other = roster.enter(rankOf(2, 8), {}, "10.0.0.3:5");
  for (const char* part : {"rank 2", "8 ranks", "rank 1", "as one of 4"})
    EXPECT_NE(other.message().find(part), std::string_view::npos) << other.message();
  for (const PeerIdentity& impossible :
       {rankOf(4, 4), rankOf(-1, 4), rankOf(0, 0), rankOf(0, -1), rankOf(0, kMostRanks + 1)}) {
    EXPECT_EQ(roster.enter(impossible, {}, "x").code(), StatusCode::kMismatch);
  }
}

TEST(Roster, ARoundStartsEmptyButRemembersWhoIsGone) {
  Roster roster;
  for (const int rank : {0, 1, 2})
    ASSERT_TRUE(roster.enter(rankOf(rank, 3), {}, "x").ok());
  roster.startNextRound();
  EXPECT_FALSE(roster.complete());
  EXPECT_EQ(roster.round(), 1U);
  EXPECT_EQ(roster.enter(rankOf(0, 3), {}, "x").code(), StatusCode::kMismatch) << "round 0 is over";
  roster.depart(2, "10.0.0.3:5", Departure::kLost);
  EXPECT_TRUE(roster.hopeless().ok()) << "nobody waits for it";
  ASSERT_TRUE(roster.enter(rankOf(1, 3), {.round = 1}, "x").ok());
  const Status gone = roster.hopeless();
  EXPECT_EQ(gone.code(), StatusCode::kPeerLost);
  for (const char* part : {"rank 2 at 10.0.0.3:5", "round 1", "missing: 0, 2"})
    EXPECT_NE(gone.message().find(part), std::string_view::npos) << gone.message();
}

TEST(LogQuota, LetsAFewThroughAndThenOneASecond) {
  LogQuota quota;
  const LogQuota::Clock::time_point now = LogQuota::Clock::now();
  for (int line = 0; line < LogQuota::kBurst; ++line)
    EXPECT_EQ(quota.ask(now), 0U);
  EXPECT_EQ(quota.ask(now), std::nullopt);
  EXPECT_EQ(quota.ask(now), std::nullopt);
  EXPECT_EQ(quota.ask(now + std::chrono::seconds{2}), 2U);
}

}  // namespace
}  // namespace rondo
