// The frame reader, and the messages of a rendezvous, against hostile bytes: a stream of frames
// that arrives in pieces as long as the first byte of the input says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/bootstrap/frame.h"
#include "src/bootstrap/rendezvous_messages.h"

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

void attack(std::span<const std::byte> input) {
  if (input.empty()) return;
  const std::size_t pieceBytes = std::to_integer<std::size_t>(input[0]) + 1;
  input = input.subspan(1);
  FrameReader reader;
  while (!input.empty() && reader.wanted() > 0) {
    const std::size_t piece = std::min({input.size(), reader.wanted(), pieceBytes});
    if (!reader.receive(input.first(piece)).ok()) {
      RONDO_CHECK(reader.wanted() == 0 && !reader.complete());
      return;
    }
    input = input.subspan(piece);
    if (reader.complete()) check(reader.take());
  }
}

}  // namespace
}  // namespace rondo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::attack(std::as_bytes(std::span(data, size)));
  return 0;
}
