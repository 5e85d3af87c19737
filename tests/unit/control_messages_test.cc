// What ranks say to each other besides data, as bytes.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/bootstrap/status_fields.h"
#include "src/control/messages.h"
#include "transports/connection.h"

namespace rondo {
namespace {

/// The one frame that `stream` is.
Frame frameOf(const std::vector<std::byte>& stream) {
  FrameReader reader(kMaxControlBytes);
  std::span<const std::byte> rest = stream;
  while (!rest.empty() && reader.wanted() > 0) {
    const std::size_t part = std::min(rest.size(), reader.wanted());
    EXPECT_TRUE(reader.receive(rest.first(part)).ok());
    rest = rest.subspan(part);
  }
  EXPECT_TRUE(rest.empty() && reader.complete());
  return reader.complete() ? reader.take() : Frame{};
}

RankNews someNews() {
  RankNews news;
  for (std::size_t word = 0; word < news.record.size(); ++word)
    news.record[word] = word * 0x0101010101010101ULL;
  news.posted = ~std::uint64_t{0};
  news.released = 12;
  return news;
}

/// Whether `read` refuses the payload of `frame` cut at every length, and one byte too many.
template <class Read>
void expectWhole(const Frame& frame, Read read) {
  for (std::size_t length = 0; length <= frame.payload.size() + 1; ++length) {
    Frame other = frame;
    other.payload.resize(length);
    EXPECT_EQ(read(other), length == frame.payload.size()) << "cut to " << length;
  }
}

TEST(ControlMessages, NewsComeBackAsTheyWere) {
  for (const ControlMessage type : {ControlMessage::kNews, ControlMessage::kGoodbye}) {
    std::vector<std::byte> stream;
    appendNews(stream, type, someNews());
    const Frame frame = frameOf(stream);
    EXPECT_EQ(frame.type, static_cast<std::uint16_t>(type));
    ASSERT_TRUE(readNews(frame).ok());
    EXPECT_EQ(*readNews(frame), someNews());
    expectWhole(frame, [](const Frame& other) { return readNews(other).ok(); });
  }
}

TEST(ControlMessages, OpenDataComesBackAndItsChannelIsChecked) {
  for (const int channel : {0, 1, kMaxConnections - 1, kMaxConnections, 1 << 30}) {
    const OpenData open{DataWire::kVerbs, channel, 65536, 4};
    std::vector<std::byte> stream;
    appendOpenData(stream, open);
    const Frame frame = frameOf(stream);
    const Result<OpenData> read = readOpenData(frame);
    ASSERT_EQ(read.ok(), channel < kMaxConnections) << channel;
    if (!read.ok()) continue;
    EXPECT_EQ(*read, open);
    expectWhole(frame, [](const Frame& other) { return readOpenData(other).ok(); });
  }
}

TEST(ControlMessages, NothingElseOpensAConnection) {
  std::vector<std::byte> stream;
  appendOpenData(stream, {DataWire::kTcp, 1, 64, 2});
  Frame frame = frameOf(stream);
  frame.type = static_cast<std::uint16_t>(ControlMessage::kNews);
  EXPECT_EQ(readOpenData(frame).status().code(), StatusCode::kPeerLost);
}

TEST(ControlMessages, FailuresKeepCodeAndTextWithinAFrame) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{20}, kMaxFailureText,
                                   kMaxFailureText + 1, std::size_t{100000}}) {
    const Status failure = Status::mismatch("{}", std::string(length, 'x'));
    std::vector<std::byte> stream;
    appendControlFailure(stream, failure);
    const Status read = readControlFailure(frameOf(stream));
    EXPECT_EQ(read.code(), StatusCode::kMismatch);
    EXPECT_EQ(read.message(), failure.message().substr(0, kMaxFailureText));
  }
}

TEST(ControlMessages, WhatTellsOfNoFailureIsOne) {
  std::vector<std::byte> stream;
  appendControlFailure(stream, Status::timeout("late"));
  expectWhole(frameOf(stream), [](const Frame& other) {
    return readControlFailure(other).code() == StatusCode::kTimeout;
  });
}

TEST(ControlMessages, TheLongestFitIntoAFrame) {
  std::vector<std::byte> stream;
  appendNews(stream, ControlMessage::kNews, someNews());
  EXPECT_LE(stream.size(), kMaxControlBytes);
  static_assert(kMaxFailureText + 64 < kMaxControlBytes);
}

}  // namespace
}  // namespace rondo
