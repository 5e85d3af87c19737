// What a linked rank may say, against hostile bytes: frames of at most kMaxControlBytes, in pieces
// as long as the first byte of the input says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/control/messages.h"
#include "tests/fuzz/feed_frames.h"
#include "transports/connection.h"

namespace rondo {
namespace {

/// What was written again must be what was read.
void checkSame(const Frame& frame, std::span<const std::byte> again) {
  RONDO_CHECK(std::ranges::equal(frame.payload, again.subspan(sizeof(FrameHeader))));
}

void check(const Frame& frame) {
  RONDO_CHECK(frame.payload.size() <= kMaxControlBytes);
  RONDO_CHECK(!readControlFailure(frame).ok());
  std::vector<std::byte> again;
  if (const Result<RankNews> news = readNews(frame); news.ok()) {
    appendNews(again, ControlMessage::kNews, *news);
    checkSame(frame, again);
    CallRecord record;
    record.adopt(news->record);
    (void)record.rejection();
  }
  again.clear();
  if (const Result<OpenData> open = readOpenData(frame); open.ok()) {
    RONDO_CHECK(open->channel >= 0 && open->channel < kMaxConnections);
    appendOpenData(again, *open);
    checkSame(frame, again);
  }
}

}  // namespace
}  // namespace rondo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::feedFrames(std::as_bytes(std::span(data, size)),
                    rondo::FrameReader(rondo::kMaxControlBytes), rondo::check);
  return 0;
}
