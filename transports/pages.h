// The unit in which transports hand out memory.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr std::size_t kPageBytes = 4096;

/// `bytes`, rounded up to whole pages.
constexpr std::size_t wholePages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace rondo
