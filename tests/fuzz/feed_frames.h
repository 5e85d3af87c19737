// Hostile bytes for a FrameReader, in pieces as long as the first byte of the input says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "src/bootstrap/frame.h"
#include "src/check.h"

namespace rondo {

/// Calls `check(frame)` for each whole frame; stops where the reader refuses.
template <class Check>
void feedFrames(std::span<const std::byte> input, FrameReader reader, Check check) {
  if (input.empty()) return;
  const std::size_t pieceBytes = std::to_integer<std::size_t>(input[0]) + 1;
  input = input.subspan(1);
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

}  // namespace rondo
