// The frame reader, and the messages of a rendezvous, against hostile bytes: a stream of frames
// that arrives in pieces as long as the first byte of the input says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/bootstrap/frame.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "tests/fuzz/feed_frames.h"

namespace rondo {
namespace {

/// What was read must be what was written: it is written again and compared.
template <class Append, class Message>
void checkSame(const Frame& frame, Append append, const Message& message) {
  std::vector<std::byte> again;
  append(again, message);
  RONDO_CHECK(again.size() == sizeof(FrameHeader) + frame.payload.size());
  RONDO_CHECK(
      std::equal(frame.payload.begin(), frame.payload.end(), again.begin() + sizeof(FrameHeader)));
}

void check(const Frame& frame) {
  RONDO_CHECK(frame.payload.size() <= kMaxFrameBytes);
  if (const Result<JoinMessage> join = readJoin(frame); join.ok()) {
    checkSame(frame, appendJoin, *join);
  }
  RONDO_CHECK(!isFarewell(frame) || !readJoin(frame).ok());
  if (const Result<EntryMessage> entry = readEntry(frame); entry.ok()) {
    checkSame(frame, appendEntry, *entry);
  }
}

}  // namespace
}  // namespace rondo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::feedFrames(std::as_bytes(std::span(data, size)), rondo::FrameReader(), rondo::check);
  return 0;
}
