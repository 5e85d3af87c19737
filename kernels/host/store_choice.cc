#include "kernels/host/store_choice.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/host/streamed_copy.h"

namespace rondo::host {

namespace {

/// What a plain store to a line takes at most where the reader's cache is near: 4 to 7 ns in the
/// measurement above, where caches apart need 13 and more.
constexpr double kMostNanosPerNearLine = 10;

constexpr std::size_t kProbedLineBytes = 64;

/// Cycles that plain stores to `bytes` bytes at `slot` take.
std::uint64_t timePlainStores(std::byte* slot, std::size_t bytes) {
  static constexpr std::array<std::byte, 512> kPiece{};
  const std::uint64_t begun = cycleCounter();
  for (std::size_t at = 0; at + kPiece.size() <= bytes; at += kPiece.size())
    std::memcpy(slot + at, kPiece.data(), kPiece.size());
  return cycleCounter() - begun;
}

}  // namespace

void StoreChoice::probe(std::byte* slot, std::size_t bytes) {
  constexpr std::size_t kMostBytes = 8192;
  const std::size_t probed = std::min(bytes, kMostBytes);
  const double nanos = rate_.nanoseconds(timePlainStores(slot, probed));
  const bool apart = nanos > kMostNanosPerNearLine * static_cast<double>(probed / kProbedLineBytes);
  const bool better = hasStreamedStores() && apart;
  // An interrupt can make stores look slow, so it takes two probes in a row to change the choice.
  const bool doubtful = better != streams_ && !changing_;
  changing_ = doubtful;
  if (!doubtful) streams_ = better;
  fillingsUntilProbe_ = doubtful ? 1 : kFillingsBetween;
}

}  // namespace rondo::host
