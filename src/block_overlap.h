// Whether blocks of different sizes lie apart in memory: exactly, block by block, since buffers may
// be interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/collective_call.h"

namespace rondo {

/// The blocks of one buffer.
struct BlocksInMemory {
  std::uintptr_t base = 0;
  BlockArrays blocks;     ///< by rank; empty blocks are nowhere. Without arrays: one block
  std::size_t count = 0;  ///< without arrays: elements of it
  int ranks = 1;
  std::size_t elemBytes = 1;
};

/// Two blocks that share a byte, by rank; 0 for a buffer of one block.
struct OverlappingBlocks {
  int first = 0;
  int second = 0;
};

/// A block of `one` and a block of `other` that share a byte.
std::optional<OverlappingBlocks> findOverlap(const BlocksInMemory& one,
                                             const BlocksInMemory& other);

/// Two blocks of `buffer` that share a byte.
std::optional<OverlappingBlocks> findOverlapWithin(const BlocksInMemory& buffer);

}  // namespace rondo
